package agentmanifest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestValidOptionsPass(t *testing.T) {
	require.NoError(t, ValidateOptions(minimal()))
	require.NoError(t, ValidateOptions(full()))
}

// A13
func TestInvalidOptionsNameTheirField(t *testing.T) {
	for name, c := range map[string]struct {
		apply func(*Options)
		want  []string
	}{
		"no namespace":    {func(o *Options) { o.Namespace = "" }, []string{"spec.agentNamespace"}},
		"bad namespace":   {func(o *Options) { o.Namespace = "a.b" }, []string{"spec.agentNamespace", `"a.b"`}},
		"foreign scope":   {func(o *Options) { o.Scope = "other" }, []string{"spec.agentNamespace", "other"}},
		"no image":        {func(o *Options) { o.Image = "" }, []string{"config.agentImage", "Required"}},
		"bad image":       {func(o *Options) { o.Image = "a b" }, []string{"config.agentImage"}},
		"bad registry":    {func(o *Options) { o.PrivateRepoURL = "oci://a" }, []string{"spec.privateRepoURL", "registry.example.com"}},
		"bad pull policy": {func(o *Options) { o.PullPolicy = "Maybe" }, []string{"config.agentImagePullPolicy", "IfNotPresent"}},
		"check-in":        {func(o *Options) { o.CheckinInterval = -1 }, []string{"config.agentCheckinInterval"}},
		"heartbeat":       {func(o *Options) { o.HeartbeatInterval = -1 }, []string{"config.agentHeartbeatInterval"}},
		"workers word":    {func(o *Options) { o.DriftWorkers = "many" }, []string{"config.agentWorkers.drift", "many"}},
		"workers zero":    {func(o *Options) { o.BundleDeploymentWorkers = "0" }, []string{"config.agentWorkers.bundledeployment"}},
		"debug level":     {func(o *Options) { o.Debug, o.DebugLevel = true, -1 }, []string{"debug-level"}},
		"lease word":      {func(o *Options) { o.LeaseDuration = "long" }, []string{"FLEET_AGENT_ELECTION_LEASE_DURATION"}},
		"lease too short": {func(o *Options) { o.LeaseDuration = "25s" }, []string{"FLEET_AGENT_ELECTION_LEASE_DURATION", "RENEW_DEADLINE"}},
		"retry too long":  {func(o *Options) { o.RetryPeriod = "21s" }, []string{"FLEET_AGENT_ELECTION_RENEW_DEADLINE", "RETRY_PERIOD"}},
		"retry zero":      {func(o *Options) { o.RetryPeriod = "0s" }, []string{"FLEET_AGENT_ELECTION_RETRY_PERIOD"}},
		"error mapping":   {func(o *Options) { o.GVKErrorMapping = "\x7f" }, []string{"CATTLE_WRANGLER_CHECK_GVK_ERROR_MAPPING"}},
		"pull secret":     {func(o *Options) { o.PullSecrets = []corev1.LocalObjectReference{{}} }, []string{"spec.agentPullSecrets", "config.imagePullSecrets"}},
	} {
		t.Run(name, func(t *testing.T) { requireInvalid(t, c.apply, c.want...) })
	}
}

func requireInvalid(t *testing.T, apply func(*Options), want ...string) {
	t.Helper()
	o := minimal()
	apply(&o)
	err := ValidateOptions(o)
	for _, text := range want {
		require.ErrorContains(t, err, text)
	}
	_, err = Objects(o)
	require.ErrorContains(t, err, want[0], "objects must not be made of invalid options")
}

// A13
func TestInvalidTolerationsNameTheirField(t *testing.T) {
	for name, c := range map[string]struct {
		toleration corev1.Toleration
		want       string
	}{
		"operator":          {corev1.Toleration{Key: "a", Operator: "In"}, "spec.agentTolerations[a].operator"},
		"effect":            {corev1.Toleration{Key: "a", Effect: "NoRun"}, "spec.agentTolerations[a].effect"},
		"key":               {corev1.Toleration{Key: "a b"}, "spec.agentTolerations[a b].key"},
		"no key":            {corev1.Toleration{Value: "v"}, "spec.agentTolerations[].operator"},
		"value":             {corev1.Toleration{Key: "a", Value: "b c"}, "spec.agentTolerations[a].value"},
		"value with Exists": {corev1.Toleration{Key: "a", Operator: "Exists", Value: "v"}, "spec.agentTolerations[a].value"},
		"word with Gt":      {corev1.Toleration{Key: "a", Operator: "Gt", Value: "v"}, "spec.agentTolerations[a].value"},
		"seconds without evict": {corev1.Toleration{Key: "a", Effect: "NoSchedule", TolerationSeconds: ptr(int64(1))},
			"take tolerationSeconds out"},
	} {
		t.Run(name, func(t *testing.T) {
			requireInvalid(t, func(o *Options) { o.Tolerations = []corev1.Toleration{c.toleration} }, c.want)
		})
	}
}

func TestValidTolerationsPass(t *testing.T) {
	o := minimal()
	o.Tolerations = []corev1.Toleration{
		{Operator: "Exists"},
		{Key: "a"},
		{Key: "example.com/a", Operator: "Equal", Value: "v", Effect: "PreferNoSchedule"},
		{Key: "a", Operator: "Gt", Value: "-7"},
		{Key: "a", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr(int64(-1))},
	}
	require.NoError(t, ValidateOptions(o))
}

func TestInvalidVariablesAreNamedButNotQuoted(t *testing.T) {
	source := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
	for name, c := range map[string]struct {
		variable corev1.EnvVar
		want     string
	}{
		"no name":      {corev1.EnvVar{Value: "secret"}, "spec.agentEnvVars[].name"},
		"assignment":   {corev1.EnvVar{Name: "PASSWORD=secret"}, "spec.agentEnvVars[PASSWORD].name"},
		"unprintable":  {corev1.EnvVar{Name: "A\x1b[2J\x7f", Value: "secret"}, "spec.agentEnvVars[A [2J ].name"},
		"not ASCII":    {corev1.EnvVar{Name: "Ä", Value: "secret"}, "spec.agentEnvVars[Ä].name"},
		"both":         {corev1.EnvVar{Name: "A", Value: "secret", ValueFrom: source}, "spec.agentEnvVars[A].valueFrom"},
		"no source":    {corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{}}, "spec.agentEnvVars[A].valueFrom"},
		"NUL":          {corev1.EnvVar{Name: "A", Value: "secret\x00"}, "spec.agentEnvVars[A].value"},
		"next line":    {corev1.EnvVar{Name: "A", Value: "secret\u0085"}, "spec.agentEnvVars[A].value"},
		"GENERATION":   {corev1.EnvVar{Name: "GENERATION", Value: "secret"}, "take the variable out"},
		"NAMESPACE":    {corev1.EnvVar{Name: "NAMESPACE", Value: "secret"}, "take the variable out"},
		"AGENT_SCOPE":  {corev1.EnvVar{Name: "AGENT_SCOPE", Value: "secret"}, "take the variable out"},
		"POD_NAME too": {corev1.EnvVar{Name: "POD_NAME", Value: "secret"}, "take the variable out"},
	} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.EnvVars = []corev1.EnvVar{c.variable}
			err := ValidateOptions(o)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

// An agent that is given one of these ends at its start, and the hub would know it from its silence alone.
func TestVariablesThatNoAgentStartsWithAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		variables []corev1.EnvVar
		want      string
	}{
		"no duration":        {[]corev1.EnvVar{{Name: EnvHeartbeatInterval, Value: "secret"}}, "spec.agentEnvVars[HEARTBEAT_INTERVAL].value"},
		"a negative one":     {[]corev1.EnvVar{{Name: EnvCheckinInterval, Value: "-1m"}}, "spec.agentEnvVars[CHECKIN_INTERVAL].value"},
		"no lease":           {[]corev1.EnvVar{{Name: EnvLeaseDuration, Value: "secret"}}, "spec.agentEnvVars[CATTLE_ELECTION_LEASE_DURATION].value"},
		"a zero retry":       {[]corev1.EnvVar{{Name: EnvRetryPeriod, Value: "0s"}}, "spec.agentEnvVars[CATTLE_ELECTION_RETRY_PERIOD].value"},
		"a short lease":      {[]corev1.EnvVar{{Name: EnvLeaseDuration, Value: "20s"}}, "must be longer than FLEET_AGENT_ELECTION_RENEW_DEADLINE, 25s"},
		"a long deadline":    {[]corev1.EnvVar{{Name: EnvRenewDeadline, Value: "40s"}}, "must be longer than spec.agentEnvVars[CATTLE_ELECTION_RENEW_DEADLINE].value, 40s"},
		"the last one holds": {[]corev1.EnvVar{{Name: EnvRetryPeriod, Value: "5s"}, {Name: EnvRetryPeriod, Value: "24s"}}, "1.2 times spec.agentEnvVars[CATTLE_ELECTION_RETRY_PERIOD].value, 24s"},
	} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.EnvVars = c.variables
			err := ValidateOptions(o)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	o := minimal()
	o.EnvVars = []corev1.EnvVar{
		{Name: EnvHeartbeatInterval, Value: "5s"}, {Name: EnvCheckinInterval, Value: "0"},
		{Name: EnvLeaseDuration, Value: "60s"}, {Name: EnvRenewDeadline, Value: "50s"},
		{Name: EnvRetryPeriod, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
	}
	require.NoError(t, ValidateOptions(o), "what only the cluster knows is not judged")
	o.EnvVars = []corev1.EnvVar{{Name: EnvLeaseDuration}}
	require.NoError(t, ValidateOptions(o), "an empty one means the default")
}

func TestARegistrysPasswordIsNotQuoted(t *testing.T) {
	o := minimal()
	o.PrivateRepoURL = "https://user:secret@registry.example.com"
	err := ValidateOptions(o)
	require.ErrorContains(t, err, "spec.privateRepoURL")
	require.NotContains(t, err.Error(), "secret")
}

func TestInvalidResourcesNameTheirField(t *testing.T) {
	one, two := resource.MustParse("1"), resource.MustParse("2")
	for name, c := range map[string]struct {
		resources corev1.ResourceRequirements
		want      string
	}{
		"negative limit": {corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("-1")}},
			"spec.agentResources.limits[cpu]"},
		"negative request": {corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("-1")}},
			"spec.agentResources.requests[cpu]"},
		"request above limit": {corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": two}, Limits: corev1.ResourceList{"cpu": one}},
			"must not be above the limit, 1"},
		"name": {corev1.ResourceRequirements{Limits: corev1.ResourceList{"c p u": one}},
			"spec.agentResources.limits[c p u]"},
		"claims": {corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}, "spec.agentResources.claims"},
	} {
		t.Run(name, func(t *testing.T) {
			requireInvalid(t, func(o *Options) { o.Resources = &c.resources }, c.want)
		})
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	requireInvalid(t, func(o *Options) {
		o.Image = ""
		o.Tolerations = []corev1.Toleration{{Key: "a", Operator: "In"}, {Key: "b", Effect: "NoRun"}}
	}, "config.agentImage", "spec.agentTolerations[a].operator", "spec.agentTolerations[b].effect")
}

// What is wrong ends in a condition: it is bounded, and can be shown, whatever was written.
func TestProblemsAreBounded(t *testing.T) {
	o := minimal()
	for i := range 500 {
		o.Tolerations = append(o.Tolerations, corev1.Toleration{Key: strconv.Itoa(i) + "\x1b" + strings.Repeat("k", 5000), Operator: "Often"})
	}
	o.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
		{Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "\x7f"}}}}}}}
	err := ValidateOptions(o)
	require.ErrorContains(t, err, "more")
	require.Less(t, len(err.Error()), 8000)
	require.NotContains(t, err.Error(), "\x1b")

	o.Tolerations = nil
	require.ErrorContains(t, ValidateOptions(o), "spec.agentAffinity")
}
