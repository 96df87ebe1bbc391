package clusterregistration

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/gvk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares objects with a file, byte for byte: what an agent may do is nothing to be changed in passing.
func golden(t *testing.T, file string, objs []runtime.Object) {
	t.Helper()
	var got bytes.Buffer
	for _, obj := range objs {
		kind, err := gvk.Get(obj)
		require.NoError(t, err)
		obj = obj.DeepCopyObject()
		obj.GetObjectKind().SetGroupVersionKind(kind)
		raw, err := yaml.Marshal(obj)
		require.NoError(t, err)
		got.WriteString("---\n")
		got.Write(raw)
	}
	path := filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String(), "if it is meant: go test -update")
}

func TestTheExactRightsOfAnAgent(t *testing.T) {
	golden(t, "grant.yaml", slices.Concat(grantObjects(asked(request()), cluster()), reportObjects(asked(request()), cluster())))
}

// A ClusterRoleBinding for each cluster would be looked at by every request to the hub.
func TestAGrantHasNothingClusterWideAndNothingOfTheWholeWorkspace(t *testing.T) {
	in := asked(request())
	for _, obj := range slices.Concat(grantObjects(in, cluster()), reportObjects(in, cluster())) {
		kind, err := gvk.Get(obj)
		require.NoError(t, err)
		assert.Contains(t, []string{"ServiceAccount", "Role", "RoleBinding"}, kind.Kind)
	}
}

func TestTheNewClusterOfAnAgent(t *testing.T) {
	in := asked(request(func(r *fleet.ClusterRegistration) {
		r.Spec.ClusterLabels = map[string]string{"env": "prod"}
		r.Spec.Agent = &fleet.RegistrationAgent{Options: &fleet.AgentOptions{
			EnvVars:     []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy"}},
			Tolerations: []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists}},
			PullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		}}
	}), byItself())

	c := newCluster(in)

	name := "cluster-" + names.KeyHash(client)
	assert.Equal(t, name, c.Name)
	assert.Equal(t, workspace, c.Namespace)
	assert.Equal(t, map[string]string{"env": "prod", "fleet.cattle.io/cluster": name}, c.Labels)
	assert.Equal(t, []string{"fleet.cattle.io/cluster-finalizer"}, c.Finalizers)
	assert.Equal(t, client, c.Spec.ClientID)
	assert.Empty(t, c.Spec.KubeConfigSecret)
	pin, err := registration.PinOf(c.Annotations)
	require.NoError(t, err)
	assert.Equal(t, &registration.Pin{Fingerprint: agentKey.Fingerprint(), ClusterUID: downUID}, pin, "it is never open for a moment")
	assert.Equal(t, "HTTPS_PROXY", c.Spec.AgentEnvVars[0].Name)
	assert.Len(t, c.Spec.AgentTolerations, 1)
	assert.Equal(t, &[]corev1.LocalObjectReference{{Name: "pull"}}, c.Spec.AgentPullSecrets)
}

func TestTheNewClusterOfAnAgentThatSaysNothing(t *testing.T) {
	c := newCluster(asked(request(keyless), byItself(func(t *fleet.ClusterRegistrationToken) { t.Spec.ClusterName = "chosen" })))
	assert.Equal(t, "chosen", c.Name)
	assert.Equal(t, map[string]string{"fleet.cattle.io/cluster": "chosen"}, c.Labels)
	assert.Empty(t, c.Annotations)
	assert.Equal(t, fleet.ClusterSpec{ClientID: client}, c.Spec, "no list of pull secrets is not an empty one")
}

// S04 and the reference's cases of createOrGetCluster: labels come from the agent only as far as they are its to say.
func TestLabelsOfANewCluster(t *testing.T) {
	claims := map[string]string{
		"env": "prod", "team": "a",
		"management.cattle.io/cluster-display-name": "spoofed",
		"fleet.cattle.io/cluster":                   "spoofed",
		"fleet.cattle.io/cluster-management":        "spoofed",
		"objectset.rio.cattle.io/hash":              "spoofed",
		"fleet.cattle.io/created-by-agent-pod":      "fleet-agent-1",
	}
	pod := "fleet.cattle.io/created-by-agent-pod"
	for name, test := range map[string]struct {
		allowed *[]string
		ignore  bool
		strict  bool
		want    map[string]string
	}{
		"no limit":            {nil, false, false, map[string]string{"env": "prod", "team": "a", pod: "fleet-agent-1"}},
		"some are allowed":    {&[]string{"env", "other"}, false, false, map[string]string{"env": "prod", pod: "fleet-agent-1"}},
		"none is allowed":     {&[]string{}, false, false, map[string]string{pod: "fleet-agent-1"}},
		"reserved if allowed": {&[]string{"fleet.cattle.io/cluster-management"}, false, false, map[string]string{pod: "fleet-agent-1"}},
		"the hub ignores all": {nil, true, false, map[string]string{}},
		"strict, no list":     {nil, false, true, map[string]string{pod: "fleet-agent-1"}},
		"strict, a list":      {&[]string{"env", "other"}, false, true, map[string]string{"env": "prod", pod: "fleet-agent-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := asked(request(func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = claims }),
				byItself(func(t *fleet.ClusterRegistrationToken) { t.Spec.AllowedLabels = test.allowed }),
				func(in *input) {
					in.config.IgnoreClusterRegistrationLabels, in.config.Registration.StrictLabels = test.ignore, test.strict
				})
			c := newCluster(in)
			test.want["fleet.cattle.io/cluster"] = c.Name
			assert.Equal(t, test.want, c.Labels)
			assert.Len(t, claims, 7, "what the agent sent is left as it is")
		})
	}
}

func TestOptionsThatAreTooLargeAreLeftOut(t *testing.T) {
	long := strings.Repeat("x", maxOptionValue+1)
	many := maxOptionItems + 1
	for name, o := range map[string]*fleet.AgentOptions{
		"none":                  nil,
		"too many variables":    {EnvVars: make([]corev1.EnvVar, many)},
		"too many tolerations":  {Tolerations: make([]corev1.Toleration, many)},
		"too many pull secrets": {PullSecrets: make([]corev1.LocalObjectReference, many)},
		"a long name":           {EnvVars: []corev1.EnvVar{{Name: long}}},
		"a long value":          {EnvVars: []corev1.EnvVar{{Name: "A", Value: long}}},
	} {
		c := newCluster(asked(request(func(r *fleet.ClusterRegistration) {
			r.Spec.Agent = &fleet.RegistrationAgent{Options: o}
		}), byItself()))
		assert.Equal(t, fleet.ClusterSpec{ClientID: client}, c.Spec, name)
	}
	assert.True(t, bounded(&fleet.AgentOptions{EnvVars: make([]corev1.EnvVar, maxOptionItems)}))
}
