package clusterimport

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

func TestTheRecordOfAnImport(t *testing.T) {
	f := factsOf(cluster())
	assert.Equal(t, registration.Import{
		TokenUID: "t", AccountUID: "a", ClusterUID: "u", Namespace: "cattle-fleet-system",
		Kubeconfig: digest([]byte("a kubeconfig")), Generation: agentmanifest.Generation(f.options), Time: now, Attempts: 3,
	}, nextRecord(f, plan{attempts: 3}, "t", "a", site{place: place{clusterUID: "u"}}))
}

func TestNamespacesThatTheAgentLeavesAreRememberedUntilItHasReported(t *testing.T) {
	for name, test := range map[string]struct {
		have, previous []string // the first of have is the namespace of the last import
		agentNamespace string
		clusterUID     string
		want           []string
	}{
		"first import":            {nil, nil, "", "u", nil},
		"same namespace":          {[]string{"cattle-fleet-system"}, nil, "", "u", nil},
		"it moves":                {[]string{"cattle-fleet-system"}, nil, "agents", "u", []string{"cattle-fleet-system"}},
		"it moves on":             {[]string{"agents"}, []string{"older"}, "agents-2", "u", []string{"older", "agents"}},
		"it moves back":           {[]string{"agents"}, []string{"cattle-fleet-system"}, "", "u", []string{"agents"}},
		"it is told once":         {[]string{"agents"}, []string{"agents", "agents"}, "agents-2", "u", []string{"agents"}},
		"it is tried once more":   {[]string{"agents"}, []string{"cattle-fleet-system"}, "agents", "u", []string{"cattle-fleet-system"}},
		"it is another cluster":   {[]string{"agents"}, []string{"older"}, "agents-2", "another", nil},
		"the cluster was unknown": {[]string{"agents"}, nil, "agents-2", "", []string{"agents"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := factsOf(cluster(func(c *fleet.Cluster) { c.Spec.AgentNamespace = test.agentNamespace }))
			f.record = registration.Import{ClusterUID: "u", Previous: test.previous}
			if test.clusterUID == "" {
				f.record.ClusterUID, test.clusterUID = "", "u"
			}
			if len(test.have) > 0 {
				f.record.Namespace = test.have[0]
			}
			before := append([]string(nil), test.previous...)
			assert.Equal(t, test.want, nextRecord(f, plan{}, "t", "a", site{place: place{clusterUID: test.clusterUID}}).Previous)
			assert.Equal(t, before, append([]string(nil), f.record.Previous...), "the old record is left as it is")
		})
	}
}

func beginAs(h *hub, record registration.Import) error {
	_, err := h.begin(factsOf(h.cluster()), record)
	return err
}

func TestTheSameImportIsRecordedOnce(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(cluster())
	record := lastImport(cluster())
	require.NoError(t, beginAs(h, record))
	assert.Equal(t, []string{"update Cluster " + key}, h.writes())

	record.Time = record.Time.Add(time.Minute)
	require.NoError(t, beginAs(h, record))
	assert.Empty(t, h.writes(), "it is only tried once more")

	record.Attempts++
	require.NoError(t, beginAs(h, record))
	assert.Equal(t, []string{"update Cluster " + key}, h.writes())
}

func TestAnImportThatBeginsMakesTheOneBeforeNotCount(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(cluster(imported))
	record := lastImport(cluster(), func(r *registration.Import) { r.Namespace = "agents" })

	require.NoError(t, beginAs(h, record))

	assert.Equal(t, []string{"updateStatus Cluster " + key, "update Cluster " + key}, h.writes())
	assert.Nil(t, h.cluster().Status.AgentDeployedGeneration)
	got, ok := registration.ImportOf(h.cluster().Annotations)
	require.True(t, ok)
	assert.Equal(t, "agents", got.Namespace)
}

// Somebody else wrote to the Cluster between the look and the record: no trouble of the cluster's, and none that is shown.
func TestARecordThatSomebodyElseOvertookIsTriedAgainInSilence(t *testing.T) {
	h, d := importing(t)
	h.work1(t)
	h.answerToken(t)
	h.writes()
	h.fails[noteRecord] = apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, edge, errors.New("changed"))
	require.ErrorIs(t, h.work(t.Context(), key), errOvertaken)
	assert.Equal(t, []string{noteRecord}, h.writes())
	assert.Empty(t, d.Writes())
	delete(h.fails, noteRecord)
	h.work1(t)
	assert.Equal(t, "Imported", h.imported(t).Reason)
}
