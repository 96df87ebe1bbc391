package v1alpha1

import (
	"testing"

	"github.com/rancher/wrangler/v3/pkg/summary"
)

func TestTextOfModifiedResources(t *testing.T) {
	deployment := func(change func(*ModifiedStatus)) ModifiedStatus {
		entry := ModifiedStatus{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "name"}
		change(&entry)
		return entry
	}
	for want, entry := range map[string]ModifiedStatus{
		"configmap.v1 ns/name missing":               {APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "name", Create: true},
		"configmap.v1 ns/name modified {patch}":      {APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "name", Patch: "{patch}"},
		"namespace.v1 name extra":                    {APIVersion: "v1", Kind: "Namespace", Name: "name", Delete: true},
		"deployment.apps ns/name is not owned by us": deployment(func(m *ModifiedStatus) { m.Create, m.Exist = true, true }),
		"deployment.apps ns/name missing":            deployment(func(m *ModifiedStatus) { m.Create = true }),
		"deployment.apps ns/name extra":              deployment(func(m *ModifiedStatus) { m.Delete = true }),
		"thing name modified ":                       {Kind: "Thing", Name: "name"},
	} {
		if got := entry.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTextOfResourcesThatAreNotReady(t *testing.T) {
	entry := NonReadyStatus{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "ns", Name: "name",
		Summary: summary.Summary{State: "in-progress", Message: []string{"waiting for pods"}}}
	if got, want := entry.String(), "deployment.apps ns/name "+entry.Summary.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
