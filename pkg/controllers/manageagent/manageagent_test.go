package manageagent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// The reference's TestSkipCluster, TestIsLocalCluster and TestLocalAgentDisabled, as far as the bundle goes.
func TestWhoIsToHaveABundle(t *testing.T) {
	no := false
	local := func(c *fleet.Cluster) { c.Namespace, c.Name = "fleet-local", "local" }
	localDisabled := config.Config{Bootstrap: config.Bootstrap{Namespace: "fleet-local", LocalAgentDisabled: true}}
	label := func(value string) func(*fleet.Cluster) {
		return func(c *fleet.Cluster) { c.Labels = map[string]string{names.ClusterManagementLabel: value} }
	}
	for name, test := range map[string]struct {
		cluster    *fleet.Cluster
		config     config.Config
		want, keep bool
	}{
		"registered":                     {cluster(), config.Config{}, true, false},
		"not registered":                 {cluster(func(c *fleet.Cluster) { c.Status.Conditions = nil }), config.Config{}, false, true},
		"joined by itself, not reported": {cluster(func(c *fleet.Cluster) { c.Status.Agent.LastSeen = metav1.Time{} }), config.Config{}, false, true},
		"imported, not reported": {cluster(func(c *fleet.Cluster) {
			c.Spec.KubeConfigSecret, c.Status.Agent.LastSeen = "kubeconfig", metav1.Time{}
		}), config.Config{}, true, false},
		"gone":                             {nil, config.Config{}, false, true},
		"being deleted (E03)":              {cluster(func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} }), config.Config{}, false, true},
		"of another manager":               {cluster(label("x")), config.Config{}, false, true},
		"with an empty label":              {cluster(label("")), config.Config{}, true, false},
		"revoked":                          {cluster(func(c *fleet.Cluster) { c.Spec.Revoked = true }), config.Config{}, false, true},
		"the hub manages no agents":        {cluster(), config.Config{ManageAgent: &no}, false, false},
		"none, and it is not registered":   {cluster(func(c *fleet.Cluster) { c.Status.Conditions = nil }), config.Config{ManageAgent: &no}, false, false},
		"local, its agent is switched off": {cluster(local), localDisabled, false, false},
		"local, its agent is on":           {cluster(local), config.Config{Bootstrap: config.Bootstrap{Namespace: "fleet-local"}}, true, false},
		"named local elsewhere":            {cluster(func(c *fleet.Cluster) { c.Name = "local" }), localDisabled, true, false},
	} {
		want, keep := wanted(test.cluster, test.config)
		assert.Equal(t, test.want, want, name)
		assert.Equal(t, test.keep, keep, name)
	}
}

func bundleOf(c *fleet.Cluster, settings agentmanifest.Settings) (*fleet.Bundle, error) {
	options, _, err := agentmanifest.Effective(c, settings)
	if err != nil {
		return nil, err
	}
	return bundleFor(c, options)
}

func TestTheBundleOfAnAgent(t *testing.T) {
	b, err := bundleOf(cluster(), settings(config.Config{}))
	require.NoError(t, err)

	assert.Equal(t, metav1.ObjectMeta{Namespace: workspace, Name: "fleet-agent-edge"}, b.ObjectMeta)
	assert.Equal(t, "cattle-fleet-system", b.Spec.DefaultNamespace)
	assert.Equal(t, &fleet.HelmOptions{TakeOwnership: true}, b.Spec.Helm)
	assert.Equal(t, []fleet.BundleTarget{{
		ClusterName: edge,
		ClusterSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "fleet.cattle.io/non-managed-agent", Operator: metav1.LabelSelectorOpDoesNotExist,
		}}},
	}}, b.Spec.Targets)
	require.Len(t, b.Spec.Resources, 1)
	assert.Equal(t, "agent.yaml", b.Spec.Resources[0].Name)
	content := b.Spec.Resources[0].Content
	assert.Contains(t, content, "\n---\n")
	for _, kind := range []string{"Namespace", "Secret", "ConfigMap"} {
		assert.NotContains(t, content, "kind: "+kind+"\n", "it is the import's")
	}
	for _, kind := range []string{"PriorityClass", "PodDisruptionBudget"} {
		assert.NotContains(t, content, "kind: "+kind+"\n", "nobody asks for it")
	}
	assert.Nil(t, b.Spec.Diff)
}

func TestTheBundleBringsWhatSchedulesTheAgent(t *testing.T) {
	b, err := bundleOf(cluster(func(c *fleet.Cluster) {
		c.Spec.AgentSchedulingCustomization = &fleet.AgentSchedulingCustomization{
			PriorityClass: &fleet.PriorityClassSpec{Value: 5}, PodDisruptionBudget: &fleet.PodDisruptionBudgetSpec{MaxUnavailable: "1"},
		}
	}), settings(config.Config{}))
	require.NoError(t, err)
	for _, kind := range []string{"PriorityClass", "PodDisruptionBudget"} {
		assert.Contains(t, b.Spec.Resources[0].Content, "kind: "+kind+"\n")
	}
	assert.NotNil(t, b.Spec.Diff, "agents of one cluster do not take the class from each other")
}

// A02: the import computes the same generation from the same options, so that adoption restarts nothing.
func TestTheBundleCarriesTheGenerationThatTheImportCarries(t *testing.T) {
	c := cluster(func(c *fleet.Cluster) {
		c.Spec.AgentEnvVars = []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy"}}
		c.Spec.AgentNamespace = "agents"
	})
	b, err := bundleOf(c, settings(config.Config{}))
	require.NoError(t, err)
	options, _, err := agentmanifest.Effective(c, settings(config.Config{}))
	require.NoError(t, err)
	assert.Equal(t, "agents", b.Spec.DefaultNamespace)
	assert.Contains(t, b.Spec.Resources[0].Content, agentmanifest.Generation(options))
}

// The reference tracks each option by a hash of its own (TestOnClusterChange…); here the content of the bundle tells. What
// means the same is no change, what differs is one.
func TestWhatChangesTheBundle(t *testing.T) {
	yes, off := true, false
	one, other := corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}, corev1.Toleration{Key: "b", Operator: corev1.TolerationOpExists}
	spec := func(change func(*fleet.ClusterSpec)) func(*fleet.Cluster) {
		return func(c *fleet.Cluster) { change(&c.Spec) }
	}
	tolerations := func(list ...corev1.Toleration) func(*fleet.Cluster) {
		return spec(func(s *fleet.ClusterSpec) { s.AgentTolerations = list })
	}
	affinity := func(role string) func(*fleet.Cluster) {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: role, Operator: corev1.NodeSelectorOpExists}}}
		return spec(func(s *fleet.ClusterSpec) {
			s.AgentAffinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
			}}
		})
	}
	memory := func(quantity string) func(*fleet.Cluster) {
		return spec(func(s *fleet.ClusterSpec) {
			s.AgentResources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}}
		})
	}
	priority := &fleet.AgentSchedulingCustomization{PriorityClass: &fleet.PriorityClassSpec{Value: 5}}
	plain := func(*fleet.Cluster) {}
	for name, test := range map[string]struct {
		a, b func(*fleet.Cluster)
		same bool
	}{
		"tolerations, empty and none":     {plain, spec(func(s *fleet.ClusterSpec) { s.AgentTolerations = []corev1.Toleration{} }), true},
		"tolerations in another order":    {tolerations(one, other), tolerations(other, one), true},
		"another toleration":              {tolerations(one), tolerations(one, other), false},
		"tolerations removed":             {tolerations(one), plain, false},
		"an empty affinity removes one":   {plain, spec(func(s *fleet.ClusterSpec) { s.AgentAffinity = &corev1.Affinity{} }), false},
		"one affinity and the same":       {affinity("a"), affinity("a"), true},
		"another affinity":                {affinity("a"), affinity("b"), false},
		"an affinity made empty":          {affinity("a"), spec(func(s *fleet.ClusterSpec) { s.AgentAffinity = &corev1.Affinity{} }), false},
		"an affinity removed":             {affinity("a"), plain, false},
		"an empty affinity removed":       {spec(func(s *fleet.ClusterSpec) { s.AgentAffinity = &corev1.Affinity{} }), plain, false},
		"resources, empty and none":       {plain, spec(func(s *fleet.ClusterSpec) { s.AgentResources = &corev1.ResourceRequirements{} }), true},
		"resources, one amount spelled":   {memory("1Gi"), memory("1024Mi"), true},
		"other resources":                 {memory("1Gi"), memory("2Gi"), false},
		"resources removed":               {memory("1Gi"), plain, false},
		"a priority class":                {plain, spec(func(s *fleet.ClusterSpec) { s.AgentSchedulingCustomization = priority }), false},
		"an empty customization":          {plain, spec(func(s *fleet.ClusterSpec) { s.AgentSchedulingCustomization = &fleet.AgentSchedulingCustomization{} }), true},
		"the same toleration twice over":  {tolerations(one), tolerations(one, one), true},
		"host network off":                {plain, spec(func(s *fleet.ClusterSpec) { s.HostNetwork = &off }), true},
		"host network on":                 {plain, spec(func(s *fleet.ClusterSpec) { s.HostNetwork = &yes }), false},
		"variables":                       {plain, spec(func(s *fleet.ClusterSpec) { s.AgentEnvVars = []corev1.EnvVar{{Name: "A", Value: "b"}} }), false},
		"redeployAgentGeneration":         {plain, spec(func(s *fleet.ClusterSpec) { s.RedeployAgentGeneration = 1 }), false},
		"a registry":                      {plain, spec(func(s *fleet.ClusterSpec) { s.PrivateRepoURL = "registry.example.com" }), false},
		"no pull secrets":                 {plain, spec(func(s *fleet.ClusterSpec) { s.AgentPullSecrets = &[]corev1.LocalObjectReference{} }), true},
		"a pull secret":                   {plain, spec(func(s *fleet.ClusterSpec) { s.AgentPullSecrets = &[]corev1.LocalObjectReference{{Name: "p"}} }), false},
		"a label":                         {plain, func(c *fleet.Cluster) { c.Labels = map[string]string{"env": "prod"} }, true},
		"a heartbeat":                     {plain, func(c *fleet.Cluster) { c.Status.Agent.LastSeen = metav1.NewTime(now) }, true},
		"the reference's flags in status": {plain, func(c *fleet.Cluster) { c.Status.AgentTolerationsHash, c.Status.AgentConfigChanged = "x", true }, true},
	} {
		a, err := bundleOf(cluster(test.a), settings(config.Config{}))
		require.NoError(t, err, name)
		b, err := bundleOf(cluster(test.b), settings(config.Config{}))
		require.NoError(t, err, name)
		assert.Equal(t, test.same, a.Spec.Resources[0].Content == b.Spec.Resources[0].Content, name)
	}
}

func TestAnImageOfTheConfigurationReachesTheBundle(t *testing.T) {
	a, err := bundleOf(cluster(), settings(config.Config{}))
	require.NoError(t, err)
	b, err := bundleOf(cluster(), settings(config.Config{AgentImage: "rancher/fleet-agent:v2"}))
	require.NoError(t, err)
	assert.NotEqual(t, a.Spec.Resources, b.Spec.Resources)
}

func TestOptionsThatCannotBeAppliedNameTheCluster(t *testing.T) {
	_, err := bundleOf(cluster(badOptions), settings(config.Config{}))
	assert.ErrorContains(t, err, workspace+"/"+edge)
}

// The pull secrets of the hub are copied by the import; the bundle names them, and carries no Secret.
func TestTheBundleCarriesNoCopyOfAPullSecret(t *testing.T) {
	own := &[]corev1.LocalObjectReference{{Name: "own"}}
	global := config.Config{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "global"}}}
	for name, test := range map[string]struct {
		own    *[]corev1.LocalObjectReference
		config config.Config
		named  string
	}{"none": {nil, config.Config{}, ""}, "the Cluster's": {own, config.Config{}, "own"}, "the hub's": {nil, global, "global"}, "both": {own, global, "own"}} {
		b, err := bundleOf(cluster(func(c *fleet.Cluster) { c.Spec.AgentPullSecrets = test.own }), settings(test.config))
		require.NoError(t, err, name)
		content := b.Spec.Resources[0].Content
		assert.NotContains(t, content, "kind: Secret\n", name)
		assert.Equal(t, test.named != "", strings.Contains(content, "imagePullSecrets:\n      - name: "+test.named+"\n"), name)
	}
}

// A patch that puts a finalizer onto what is being deleted is refused, and one that takes off another's lets go of what
// that one still holds.
func TestABundleIsMadeWithItsFinalizerAndKeepsThoseOfOthers(t *testing.T) {
	with := func(deleted bool, finalizers ...string) *fleet.Bundle {
		b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}
		if deleted {
			b.DeletionTimestamp = &metav1.Time{Time: now}
		}
		return b
	}
	own := names.BundleFinalizer
	assert.Equal(t, []string{own}, finalizersOf(nil))
	assert.Equal(t, []string{own}, finalizersOf(with(false)))
	assert.Equal(t, []string{"others", own}, finalizersOf(with(false, "others")))
	assert.Equal(t, []string{own, "others"}, finalizersOf(with(false, own, "others")))
	assert.Equal(t, []string{"others"}, finalizersOf(with(true, "others")))
	assert.Empty(t, finalizersOf(with(true)))
}
