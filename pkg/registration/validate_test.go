package registration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func testRequest(t *testing.T) *fleet.ClusterRegistration {
	return &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "fleet-default", Name: "request-x", UID: "uid",
			Labels: map[string]string{names.RegistrationTokenLabel: "import-token-edge"},
		},
		Spec: fleet.ClusterRegistrationSpec{
			ClientID: "7b0c9f35-7f0d-4a3b-9d2e-1c6f1f6a2b11", ClientRandom: strings.Repeat("b", randomLength),
			ClusterLabels: map[string]string{"env": "prod", names.CreatedByAgentPodLabel: "fleet-agent-0"},
			Identity: &fleet.RegistrationIdentity{
				PublicKey: testIdentity(t).PublicKey(), ClusterUID: "7b0c9f35-7f0d-4a3b-9d2e-1c6f1f6a2b11",
				Requester: "system:serviceaccount:cattle-fleet-clusters-system:import-token-edge-1",
			},
			Agent: &fleet.RegistrationAgent{Version: "v1.2.3+abc", Options: &fleet.AgentOptions{
				EnvVars: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}},
			}},
		},
	}
}

type change func(*fleet.ClusterRegistration)

func TestRequestsThatAreGood(t *testing.T) {
	for what, change := range map[string]change{
		"as an agent of ours makes it": func(*fleet.ClusterRegistration) {},
		"as an older agent makes it": func(r *fleet.ClusterRegistration) {
			r.Name, r.Labels, r.Spec.Identity, r.Spec.Agent, r.Spec.ClusterLabels = "request-x7d2k", nil, nil, nil, nil
		},
		"an empty name of the token": func(r *fleet.ClusterRegistration) { r.Labels[names.RegistrationTokenLabel] = "" },
		"another manager's":          func(r *fleet.ClusterRegistration) { r.Labels[names.ClusterManagementLabel] = "other" },
		"without a key":              func(r *fleet.ClusterRegistration) { r.Spec.Identity.PublicKey = "" },
		"an identity that is empty":  func(r *fleet.ClusterRegistration) { r.Spec.Identity = &fleet.RegistrationIdentity{} },
		"a client ID of 253 bytes":   func(r *fleet.ClusterRegistration) { r.Spec.ClientID = strings.Repeat("a", 253) },
		"a client ID of punctuation": func(r *fleet.ClusterRegistration) { r.Spec.ClientID = "Edge_1:(eu).x" },
		"applied by hand": func(r *fleet.ClusterRegistration) {
			r.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
		},
		"labelled by a person":      func(r *fleet.ClusterRegistration) { r.Labels["team"] = "a" },
		"owned by its Cluster":      func(r *fleet.ClusterRegistration) { r.OwnerReferences = ownedBy("fleet.cattle.io/v1alpha1", "Cluster") },
		"64 labels for the cluster": func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = manyLabels(64) },
		"the longest label": func(r *fleet.ClusterRegistration) {
			r.Spec.ClusterLabels = map[string]string{longestKey: strings.Repeat("v", 63)}
		},
		"a reserved label, dropped later": func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels["fleet.cattle.io/shard-ref"] = "a" },
		"granted, then changed by who may": func(r *fleet.ClusterRegistration) {
			r.Status.Granted, r.Finalizers, r.Annotations = true, []string{"example.com/backup"}, map[string]string{"fleet.cattle.io/x": ""}
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := testRequest(t)
			change(r)
			assert.NoError(t, ValidateRequest(r))
		})
	}
}

var longestKey = strings.Repeat(strings.Repeat("a", 63)+".", 3) + strings.Repeat("a", 61) + "/" + strings.Repeat("k", 63)

func ownedBy(apiVersion, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "edge", UID: "uid"}}
}

func manyLabels(n int) map[string]string {
	labels := map[string]string{}
	for i := range n {
		labels[fmt.Sprintf("label-%d", i)] = "v"
	}
	return labels
}

// Attack 5: client IDs of every bad kind.
func TestClientIDsThatAreRefused(t *testing.T) {
	for what, id := range map[string]string{
		"empty":                  "",
		"blank":                  " \t\n",
		"a space inside":         "a b",
		"a space after":          "edge ",
		"a line break":           "edge\n",
		"254 bytes":              strings.Repeat("a", 254),
		"a megabyte":             strings.Repeat("a", 1<<20),
		"no UTF-8":               "edge\xff",
		"a NUL":                  "edge\x00",
		"a control sequence":     "\x1b[2Jedge",
		"a delete":               "edge\x7f",
		"a Cyrillic look-alike":  "еdge",
		"a full-width letter":    "ｅdge",
		"a zero-width joiner":    "ed\u200dge",
		"right to left":          "\u202eegde",
		"a combining accent":     "edge\u0301",
		"a no-break space":       "ed\u00a0ge",
		"a path":                 "../../kube-system",
		"an absolute path":       "/etc/passwd",
		"a Windows path":         `..\edge`,
		"a key of another index": "fleet-default/edge",
	} {
		t.Run(what, func(t *testing.T) {
			r := testRequest(t)
			r.Spec.ClientID = id
			err := ValidateRequest(r)
			require.ErrorContains(t, err, "spec.clientID")
			assert.Less(t, len(err.Error()), 500, "an error is bounded")
		})
	}
}

// Case and what lies beyond the bytes that a name is made of are part of a client ID; nothing folds them.
func TestClientIDsThatDifferALittleAreOthers(t *testing.T) {
	long := strings.Repeat("a", 100)
	for _, pair := range [][2]string{{"edge", "Edge"}, {long + "x", long + "y"}, {"edge", "edge-1"}} {
		assert.NotEqual(t, names.CredentialSecret(pair[0], "r"), names.CredentialSecret(pair[1], "r"))
	}
}

// Attack 7: what a request may not carry, and other bad fields.
func TestRequestsThatAreRefused(t *testing.T) {
	for what, test := range map[string]struct {
		change  change
		problem string
	}{
		"another name":                  {func(r *fleet.ClusterRegistration) { r.Name = "edge" }, "metadata.name"},
		"a finalizer":                   {func(r *fleet.ClusterRegistration) { r.Finalizers = []string{"example.com/stay"} }, "metadata.finalizers"},
		"owned by a Secret":             {func(r *fleet.ClusterRegistration) { r.OwnerReferences = ownedBy("v1", "Secret") }, "metadata.ownerReferences"},
		"owned by another Cluster kind": {func(r *fleet.ClusterRegistration) { r.OwnerReferences = ownedBy("cluster.x-k8s.io/v1beta1", "Cluster") }, "metadata.ownerReferences"},
		"owned by nonsense":             {func(r *fleet.ClusterRegistration) { r.OwnerReferences = ownedBy("a/b/c", "Cluster") }, "metadata.ownerReferences"},
		"a reserved label":              {func(r *fleet.ClusterRegistration) { r.Labels["fleet.cattle.io/managed"] = "true" }, "fleet.cattle.io/managed"},
		"a label of the apply engine":   {func(r *fleet.ClusterRegistration) { r.Labels["objectset.rio.cattle.io/hash"] = "a" }, "objectset.rio.cattle.io/hash"},
		"a reserved annotation":         {func(r *fleet.ClusterRegistration) { r.Annotations = map[string]string{names.OwnerAnnotation: "a"} }, names.OwnerAnnotation},
		"large annotations": {func(r *fleet.ClusterRegistration) {
			r.Annotations = map[string]string{"a": strings.Repeat("a", maxMetadataBytes)}
		}, "bytes"},
		"no client random":                    {func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = "" }, "spec.clientRandom"},
		"a long client random":                {func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = strings.Repeat("b", 129) }, "spec.clientRandom"},
		"a client random of others":           {func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = "b\n" }, "spec.clientRandom"},
		"65 labels":                           {func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = manyLabels(65) }, "spec.clusterLabels"},
		"a long cluster UID":                  {func(r *fleet.ClusterRegistration) { r.Spec.Identity.ClusterUID = strings.Repeat("a", 254) }, "spec.identity.clusterUID"},
		"a cluster UID of control characters": {func(r *fleet.ClusterRegistration) { r.Spec.Identity.ClusterUID = "\x1b[31m" }, "spec.identity.clusterUID"},
		"a long requester":                    {func(r *fleet.ClusterRegistration) { r.Spec.Identity.Requester = strings.Repeat("a", 507) }, "spec.identity.requester"},
		"a requester with a line break":       {func(r *fleet.ClusterRegistration) { r.Spec.Identity.Requester = "a\nb" }, "spec.identity.requester"},
		"a long version":                      {func(r *fleet.ClusterRegistration) { r.Spec.Agent.Version = strings.Repeat("1", 129) }, "spec.agent.version"},
		"a version of control characters":     {func(r *fleet.ClusterRegistration) { r.Spec.Agent.Version = "v1\x1b[31m" }, "spec.agent.version"},
		"large options": {func(r *fleet.ClusterRegistration) {
			r.Spec.Agent.Options.EnvVars[0].Value = strings.Repeat("a", maxAgentOptions)
		}, "spec.agent.options"},
	} {
		t.Run(what, func(t *testing.T) {
			r := testRequest(t)
			test.change(r)
			err := ValidateRequest(r)
			require.ErrorContains(t, err, test.problem)
			assert.Less(t, len(err.Error()), 500, "an error is bounded")
		})
	}
}

func TestBadPublicKeysMakeBadRequests(t *testing.T) {
	for what, key := range badKeys(t) {
		if key == "" {
			continue // an agent without a key
		}
		r := testRequest(t)
		r.Spec.Identity.PublicKey = key
		assert.ErrorContains(t, ValidateRequest(r), "spec.identity.publicKey", what)
	}
}

// Attack 7: labels that no API server takes would leave a Cluster that can never be created.
func TestClusterLabelsThatAreRefused(t *testing.T) {
	for what, label := range map[string][2]string{
		"an empty key":             {"", "v"},
		"an upper-case prefix":     {"Fleet.Cattle.IO/cluster", "v"},
		"a look-alike prefix":      {"fleеt.cattle.io/cluster", "v"},
		"two slashes":              {"a/b/c", "v"},
		"a path":                   {"../a", "v"},
		"a key with a line break":  {"a\n", "v"},
		"a long key":               {strings.Repeat("k", 64), "v"},
		"a long prefix":            {strings.Repeat("a", 254) + "/k", "v"},
		"a long value":             {"k", strings.Repeat("v", 64)},
		"a value with a space":     {"k", "a b"},
		"a value with markup":      {"k", "<script>"},
		"a value of control chars": {"k", "\x1b[31m"},
		"a value of no UTF-8":      {"k", "\xff"},
		"a megabyte of value":      {"k", strings.Repeat("v", 1<<20)},
	} {
		t.Run(what, func(t *testing.T) {
			r := testRequest(t)
			r.Spec.ClusterLabels = map[string]string{label[0]: label[1]}
			err := ValidateRequest(r)
			require.ErrorContains(t, err, "spec.clusterLabels")
			assert.Less(t, len(err.Error()), 500, "an error is bounded")
		})
	}
}

// The error stands in a condition: another one at every look would be a write at every look.
func TestTheSameRequestHasTheSameError(t *testing.T) {
	r := testRequest(t)
	r.Spec.ClusterLabels = map[string]string{}
	for i := range 30 {
		r.Spec.ClusterLabels[fmt.Sprintf("bad %d", i)] = "v"
	}
	r.Annotations = map[string]string{"fleet.cattle.io/a": "", "fleet.cattle.io/b": "", "fleet.cattle.io/c": ""}
	r.Spec.ClientID, r.Spec.Identity.PublicKey = "", "no key"
	want := ValidateRequest(r).Error()
	for range 50 {
		assert.Equal(t, want, ValidateRequest(r).Error())
	}
}

func FuzzValidateRequest(f *testing.F) {
	f.Add("request-x", "id", "random", "env", "prod", "key", "uid", "system:serviceaccount:a:b", "v1")
	f.Add("edge", "../a", "\xff", "fleet.cattle.io/a", "<b>", "====", "\x00", " ", "")
	f.Add("request-", "\u202eid", "a\nb", "a/b/c", "\x1b[2J", strings.Repeat("A", 43)+"=", "\u2028", "system:serviceaccount::", "v1\t")
	f.Add("request-x", strings.Repeat("i", 254), strings.Repeat("r", 129), strings.Repeat("k", 64), strings.Repeat("v", 64), strings.Repeat("=", 9000), "%s%n", `\`, strings.Repeat("v", 129))
	f.Add("request-x", "id", "random", "objectset.rio.cattle.io/hash", "management.cattle.io/a", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "uid", "r", "v")
	f.Fuzz(func(t *testing.T, name, id, random, key, value, publicKey, uid, requester, version string) {
		r := &fleet.ClusterRegistration{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{key: value}, Annotations: map[string]string{value: key}},
			Spec: fleet.ClusterRegistrationSpec{
				ClientID: id, ClientRandom: random, ClusterLabels: map[string]string{key: value},
				Identity: &fleet.RegistrationIdentity{PublicKey: publicKey, ClusterUID: uid, Requester: requester},
				Agent:    &fleet.RegistrationAgent{Version: version},
			},
		}
		before := r.DeepCopy()
		err := ValidateRequest(r)
		require.Equal(t, before, r, "a check changes nothing")
		if err != nil {
			checkError(t, err, "", "")
			for line := range strings.SplitSeq(err.Error(), "\n") {
				require.Regexp(t, "^(metadata|spec)", line, "it names the field")
			}
			return
		}
		for _, s := range []string{id, random, uid, requester, version} {
			require.True(t, isPlain(s) && !strings.ContainsAny(s, `/\`), "%q", s)
		}
		require.NotContains(t, SanitizeLabels(r.Spec.ClusterLabels), names.ManagedLabel)
	})
}
