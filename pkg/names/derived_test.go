package names

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	workspace = "fleet-default"
	uid       = "7b0c9f35-7f0d-4a3b-9d2e-1c6f1f6a2b11"
)

func TestSiblingNamespaces(t *testing.T) {
	for _, test := range []struct{ system, registration, agents string }{
		{"cattle-fleet-system", "cattle-fleet-clusters-system", "cattle-fleet-agents-system"},
		{"fleet-system", "fleet-clusters-system", "fleet-agents-system"},
		{"fleet", "fleet-clusters-system", "fleet-agents-system"},
		{"my-system-two-system", "my-clusters-system-two-clusters-system", "my-agents-system-two-agents-system"},
		{"fleet-systems", "fleet-clusters-systems", "fleet-agents-systems"},
		{"system", "system-clusters-system", "system-agents-system"},
	} {
		got := NamespacesOf(test.system)
		assert.Equal(t, Namespaces{System: test.system, Registration: test.registration, Agents: test.agents}, got)
	}
}

// sample lists, for one workspace and cluster, every derived name that has to be a DNS label, and every one that may
// have dots, because it is the name of an object of another kind.
func sample(workspace, cluster string) (labels, subdomains map[string]string) {
	token := ImportToken(cluster)
	account := Account(token, uid)
	labels = map[string]string{
		"ClusterNamespace":      ClusterNamespace(workspace, cluster),
		"RegistrationNamespace": RegistrationNamespace(workspace),
		"AgentsNamespace":       AgentsNamespace(workspace),
		"RegisteredCluster":     RegisteredCluster(cluster),
		"CredentialSecret":      CredentialSecret(cluster, uid),
		"AgentRole":             AgentRole(workspace),
		"AgentRoleBinding":      AgentRoleBinding(workspace),
		"AgentSet":              AgentSet(workspace),
		"HelmReleaseName":       HelmReleaseName(AgentBundle(cluster)),
		"ContentID":             ContentID([]byte(cluster)),
	}
	subdomains = map[string]string{
		"ImportToken":       token,
		"Account":           account,
		"ImportRole":        ImportRole(account),
		"ImportRoleBinding": ImportRoleBinding(account),
		"CredentialAccess":  CredentialAccess(cluster),
		"AgentBundle":       AgentBundle(cluster),
	}
	return labels, subdomains
}

func checkSample(t *testing.T, workspace, cluster string) {
	t.Helper()
	labels, subdomains := sample(workspace, cluster)
	for function, got := range labels {
		require.Empty(t, validation.IsDNS1123Label(got), "%s of %q in %q is %q", function, cluster, workspace, got)
	}
	for function, got := range subdomains {
		require.Empty(t, validation.IsDNS1123Subdomain(got), "%s of %q in %q is %q", function, cluster, workspace, got)
		require.LessOrEqual(t, len(got), 63, "%s of %q in %q is %q", function, cluster, workspace, got)
	}
	release := HelmReleaseName(AgentBundle(cluster))
	require.LessOrEqual(t, len(release), 53, "the release of %q is %q", cluster, release)
	require.Empty(t, validation.IsDNS1123Subdomain(AccountToken(subdomains["Account"])))
	require.Empty(t, validation.IsValidLabelValue(LabelValue(cluster)))
}

// D01 and D02: names of every length make names that an API server takes.
func TestLongNamesMakeValidNames(t *testing.T) {
	for _, length := range []int{1, 40, 52, 53, 54, 63, 64, 100, 101, 200, 253} {
		checkSample(t, workspace, a(length))
		dotted := strings.Repeat("edge.eu-1.", 30)[:length]
		checkSample(t, workspace, strings.TrimRight(dotted, ".-"))
	}
}

// D01: two long names that begin alike stay apart, also beyond the bytes that KeyHash looks at.
func TestNamesThatBeginAlikeStayApart(t *testing.T) {
	pairs := [][2]string{
		{a(60) + "x", a(60) + "y"},
		{a(60), a(61)},
		{a(120) + "x", a(120) + "y"},
		{a(252) + "x", a(252) + "y"},
		{strings.Repeat("a.b-", 30) + "x", strings.Repeat("a.b-", 30) + "y"},
	}
	for _, pair := range pairs {
		oneLabels, one := sample(workspace, pair[0])
		otherLabels, other := sample(workspace, pair[1])
		for function := range one {
			assert.NotEqual(t, one[function], other[function], "%s of %q and %q", function, pair[0], pair[1])
		}
		for _, function := range []string{"ClusterNamespace", "CredentialSecret", "HelmReleaseName", "ContentID"} {
			assert.NotEqual(t, oneLabels[function], otherLabels[function], "%s of %q and %q", function, pair[0], pair[1])
		}
		assert.NotEqual(t, LabelValue(pair[0]), LabelValue(pair[1]))
	}
}

// D03: a name of any length and alphabet makes a label's value; what can be one already is kept.
func TestLabelValues(t *testing.T) {
	for _, kept := range []string{"", "edge", "Edge_1.eu", a(63)} {
		assert.Equal(t, kept, LabelValue(kept))
	}
	changed := []string{a(64), a(253), "path/to/Chart", "größe", "-edge", "edge.", "..", "日本", "a b", "a\nb", strings.Repeat("a.", 100) + "a"}
	seen := map[string]string{}
	for _, name := range changed {
		got := LabelValue(name)
		assert.Empty(t, validation.IsValidLabelValue(got), "%q makes %q", name, got)
		assert.NotContains(t, seen, got, "%q and %q share a value", name, seen[got])
		seen[got] = name
	}
}

// D04: of two names of which one begins the other, no derived name begins the other's.
func TestPrefixesOfEachOtherStayApart(t *testing.T) {
	short, long := ClusterNamespace(workspace, "edge"), ClusterNamespace(workspace, "edge-2")
	assert.NotEqual(t, short, long)
	assert.False(t, strings.HasPrefix(long, short), "%q begins with %q", long, short)
	assert.NotEqual(t, ImportToken("edge"), ImportToken("edge-2"))
	assert.NotEqual(t, AgentBundle("edge"), AgentBundle("edge-2"))
	assert.NotEqual(t, RegisteredCluster("edge"), RegisteredCluster("edge-2"))
}

// D07: the border between workspace and cluster is part of the name.
func TestClusterNamespacesOfShiftedPairsStayApart(t *testing.T) {
	pairs := [][2]string{{"ns-a", "b"}, {"ns", "a-b"}, {"ns-a-b", "c"}, {"ns-a", "b-c"}, {"ns", "a-b-c"}, {"ns", "a.b-c"}, {"ns", "a-b.c"}}
	long := a(200)
	pairs = append(pairs, [2]string{"ns-" + a(50), long}, [2]string{"ns", a(50) + "-" + long})
	var seen []string
	for _, pair := range pairs {
		got := ClusterNamespace(pair[0], pair[1])
		assert.NotContains(t, seen, got, "%s/%s", pair[0], pair[1])
		seen = append(seen, got)
	}
	assert.Equal(t, "cluster-ns-a-b-"+KeyHash("ns-a::b"), seen[0], "the wire's form")
	assert.Equal(t, "cluster-ns-a-b-"+KeyHash("ns::a-b"), seen[1])
}

// D02: the token of a long cluster name is another than that of its neighbour, and short names are kept readable.
func TestImportTokens(t *testing.T) {
	assert.Equal(t, "import-token-edge", ImportToken("edge"))
	assert.Equal(t, "import-token-"+a(50), ImportToken(a(50)))
	assert.Len(t, ImportToken(a(51)), 63)
	assert.NotEqual(t, ImportToken(a(51)), ImportToken(a(52)))
}

// D11: a name that has the form of one that is derived is a name like any other. Within a kind and a namespace no two of
// these clusters, nor a token that a person calls like one, share an object.
func TestNamesThatLookDerivedStayApart(t *testing.T) {
	clusters := []string{
		"edge", "import-token-edge", "import-token-import-token-edge", "fleet-agent-edge", "fleet-agent-fleet-agent-edge",
		"c-abcde", "my-c-abcde-x", "c-m-abcde123", "local", RegisteredCluster("edge"), ClusterNamespace(workspace, "edge"),
		CredentialSecret("edge", "r"), "edge-role", "edge-to-role", "edge-creds", "edge-token", "request-bcdfg", Account("edge", uid),
	}
	seen := map[string]string{}
	for _, cluster := range clusters {
		labels, subdomains := sample(workspace, cluster)
		for _, function := range []string{"ClusterNamespace", "RegisteredCluster", "HelmReleaseName"} {
			checkUnseen(t, seen, function, labels[function], cluster)
		}
		for function, name := range subdomains {
			checkUnseen(t, seen, function, name, cluster)
		}
		// Roles and bindings of a workspace: those of import accounts, and those of requests, which begin otherwise.
		account := Account(ImportToken(cluster), uid)
		checkUnseen(t, seen, "Role", ImportRole(account), cluster)
		checkUnseen(t, seen, "RoleBinding", ImportRoleBinding(account), cluster)
	}
}

func checkUnseen(t *testing.T, seen map[string]string, kind, name, cluster string) {
	t.Helper()
	key := kind + " " + name
	require.NotContains(t, seen, key, "%s and %s share it", seen[key], cluster)
	seen[key] = cluster
}

func TestFixedForms(t *testing.T) {
	for got, want := range map[string]string{
		Account("import-token-edge", "1-2"):        "import-token-edge-1-2",
		AccountToken("edge"):                       "edge-token",
		ImportRole("edge"):                         "edge-role",
		ImportRoleBinding("edge"):                  "edge-to-role",
		CredentialAccess("request-x-uid"):          "creds-ad0a3b9a848f3cb40ff28c858c4503ba0d5e9d90add51509",
		AgentBundle("edge"):                        "fleet-agent-edge",
		AgentRole("cattle-fleet-system"):           "cattle-fleet-system-fleet-agent-role",
		AgentRoleBinding("cattle-fleet-system"):    "cattle-fleet-system-fleet-agent-role-binding",
		AgentSet(""):                               "fleet-agent-bootstrap",
		BundleSet("apps", ""):                      "default-apps",
		BundleSet("apps", "scope"):                 "default-apps-scope",
		BundleSet("fleet-agent-tools", ""):         "default-fleet-agent-tools",
		AgentSet("cattle-fleet-local-system"):      "fleet-agent-bootstrap-cattle-fleet-local-system",
		AccountUser("ns", "edge"):                  "system:serviceaccount:ns:edge",
		AccountsGroup("ns"):                        "system:serviceaccounts:ns",
		RegisteredCluster("abc"):                   "cluster-ba7816bf8f01",
		CredentialSecret("a", "bc"):                "c-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2001",
		ClusterNamespace("fleet-local", "local"):   "cluster-fleet-local-local-1a3d67d0a899",
		ClusterNamespace("fleet-default", "a.b.c"): "cluster-fleet-default-a-b-c-" + KeyHash("fleet-default::a.b.c"),
	} {
		assert.Equal(t, want, got)
	}
}

// The wire cuts a client ID at 100 bytes, so two can share a Cluster's name; whoever grants must compare the whole ID.
func TestClientIDsThatAreEqualForHundredBytesShareAName(t *testing.T) {
	assert.Equal(t, RegisteredCluster(a(100)+"x"), RegisteredCluster(a(100)+"y"))
	assert.NotEqual(t, CredentialSecret(a(100)+"x", "r"), CredentialSecret(a(100)+"y", "r"))
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"edge", "edge.eu-1", a(253), "A_b c", "größe", "\xff\xfe", "../..", "a--b", ""} {
		f.Add(seed, seed)
	}
	for _, pair := range [][2]string{
		{"ns", a(56) + "-" + a(7)}, {a(63), a(252) + "x"}, {"ns", strings.Repeat("a.", 126) + "a"}, {"n-s", strings.Repeat("a-", 31) + "a"},
		{"xn--ns", "1.2.3.4"}, {"ns\n", "\u212a.\u0130"}, {"-", a(1 << 12)}, {"ns", a(55) + ".-" + a(7)}, {"0", strings.Repeat("-", 300)},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, workspace, cluster string) {
		checkAnyText(t, cluster)
		if len(validation.IsDNS1123Label(workspace)) > 0 || len(validation.IsDNS1123Subdomain(cluster)) > 0 {
			return
		}
		checkSample(t, workspace, cluster)
	})
}

// checkAnyText are the bounds that hold for what was never a name.
func checkAnyText(t *testing.T, s string) {
	t.Helper()
	require.LessOrEqual(t, len(SafeConcat(s)), 63)
	require.Len(t, KeyHash(s), 12)
	require.Empty(t, validation.IsDNS1123Label(RegisteredCluster(s)))
	require.Empty(t, validation.IsDNS1123Label(CredentialSecret(s, s)))
	require.Empty(t, validation.IsDNS1123Label(HelmReleaseName(s)), "%q makes %q", s, HelmReleaseName(s))
	require.LessOrEqual(t, len(HelmReleaseName(s)), 53)
	require.Empty(t, validation.IsValidLabelValue(LabelValue(s)), "%q makes %q", s, LabelValue(s))
	for _, n := range []int{0, 5, 6, 7, 53} {
		require.LessOrEqual(t, len(Limit(s, n)), n)
	}
}

// Names that are cut end in a hash so short that somebody finds two with the same; that must not make one Role of two.
func TestAccessOfTwoAccountsIsNeverOneRole(t *testing.T) {
	seen := map[string]string{}
	prefix := strings.Repeat("a", 57)
	for i := range 20000 {
		account := Account(prefix, fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		access := CredentialAccess(account)
		if other, taken := seen[access]; taken && other != account {
			t.Fatalf("%s and %s share %s", other, account, access)
		}
		seen[access] = account
		assert.LessOrEqual(t, len(access), 60)
	}
}
