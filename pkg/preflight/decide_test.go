package preflight

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/registration"
)

func execPlugin() *clientcmdapi.ExecConfig {
	return &clientcmdapi.ExecConfig{Command: "/bin/false", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
}

func TestVersions(t *testing.T) {
	for body, want := range map[string]Result{
		`{"major":"1","minor":"37","gitVersion":"v1.37.2"}`:      OK,
		`{"major":"1","minor":"30+","gitVersion":"v1.30.1-eks"}`: OK,
		`{"major":"1","minor":"29","gitVersion":"v1.29.9"}`:      Failed,
		`{"major":"1","minor":"38"}`:                             Warning,
		`{"major":"2","minor":"0"}`:                              Warning,
		`{"major":"1","minor":"many"}`:                           Warning,
		`{"kind":"Status"}`:                                      Skipped,
		`<html>`:                                                 Skipped,
	} {
		assert.Equal(t, want, decideVersion([]byte(body)).result, body)
	}
}

func TestTheEndIsNearWhenAFifthOfALifeIsLeft(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	until := from.Add(100 * time.Hour)
	assert.False(t, endsSoon(from, until, from.Add(79*time.Hour)))
	assert.True(t, endsSoon(from, until, from.Add(81*time.Hour)))
	assert.False(t, endsSoon(time.Time{}, until, until.Add(-time.Minute)), "a life without a beginning")
	assert.False(t, endsSoon(from, time.Time{}, until), "a life without an end")
}

// T02: while a CA rolls, the bundle has an old one that may end.
func TestABundleOfCAs(t *testing.T) {
	now := time.Now()
	good, gone, nearly := newAuthority(t, "good", young), newAuthority(t, "gone", ended), newAuthority(t, "nearly", old)
	join := func(all ...*authority) (bundle []byte) {
		for _, a := range all {
			bundle = append(bundle, a.pem...)
		}
		return bundle
	}
	for title, test := range map[string]struct {
		bundle []byte
		want   Result
	}{
		"none":               {nil, OK},
		"one":                {join(good), OK},
		"one and an old one": {join(gone, good), Warning},
		"one that ends soon": {join(nearly, good), Warning},
		"old ones alone":     {join(gone), Failed},
		"no PEM":             {[]byte("nonsense"), Failed},
		"a key":              {encode("PRIVATE KEY", []byte("x")), Failed},
	} {
		assert.Equal(t, test.want, decideCA(test.bundle, defaultTLSMode, valuesWords, now).result, title)
	}
}

func TestTheHubsAddressForAgents(t *testing.T) {
	ca := newAuthority(t, "hub", young).pem
	known := func(url string, ca []byte, mode string) hubSettings {
		return hubSettings{asked: true, url: url, ca: ca, mode: mode}
	}
	for title, test := range map[string]struct {
		in   Input
		hub  hubSettings
		want Result
		says string
	}{
		"nobody was asked":                    {Input{}, hubSettings{}, Skipped, "--kubeconfig of the hub"},
		"nor does the Secret say":             {Input{FromSecret: true}, hubSettings{}, Skipped, "has no key apiServerURL"},
		"the Secret says":                     {Input{FromSecret: true, ServerURL: "https://hub"}, hubSettings{}, OK, "https://hub, from the kubeconfig Secret"},
		"the Secret says what is no address":  {Input{FromSecret: true, ServerURL: "hub"}, hubSettings{}, Failed, "https URL"},
		"the Secret has a CA that is none":    {Input{FromSecret: true, ServerURL: "https://hub", ServerCA: []byte("x")}, hubSettings{}, Failed, "no certificate"},
		"the hub knows":                       {Input{}, known("https://hub", ca, "strict"), OK, "needs no key apiServerURL"},
		"the hub does not know":               {Input{}, known("", nil, "system-store"), Failed, "key apiServerURL of the kubeconfig Secret is required"},
		"the hub does not, the Secret does":   {Input{FromSecret: true, ServerURL: "https://hub"}, known("", nil, "system-store"), OK, "from the kubeconfig Secret"},
		"strict without a CA":                 {Input{}, known("https://hub", nil, "strict"), Failed, "no apiServerCA is given"},
		"strict with the Secret's CA":         {Input{FromSecret: true, ServerCA: ca}, known("https://hub", nil, "strict"), OK, ""},
		"an unknown mode":                     {Input{}, known("https://hub", nil, "lenient"), Failed, `"lenient"`},
		"the hub has an address that is none": {Input{}, known("http://hub", nil, "system-store"), Failed, "from the hub's configuration"},
		"the hub could not be asked":          {Input{}, hubSettings{asked: true, err: errors.New("no way")}, Failed, "no way"},
	} {
		f := decideHubAddress(test.in, test.hub)
		assert.Equal(t, test.want, f.result, "%s: %+v", title, f)
		assert.Contains(t, f.found, test.says, title)
	}
}

func TestTheHubIsAskedForItsSettings(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	cluster := newAPI(t, ca.pair(t, young, "127.0.0.1"))
	configMap := func(document string) func(*api) {
		return func(a *api) {
			a.objects["/api/v1/namespaces/cattle-fleet-system/configmaps/fleet-controller"] = &corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"config": document},
			}
		}
	}
	for title, test := range map[string]struct {
		hub  func(*api)
		want map[string]Result
		says string
	}{
		"a hub with an address":          {configMap(`{"apiServerURL":"https://hub.example.com","agentTLSMode":"system-store"}`), map[string]Result{}, "https://hub.example.com"},
		"a hub without an address":       {configMap(`{"agentTLSMode":"strict"}`), map[string]Result{CheckHubAddress: Failed}, "required"},
		"what is no hub":                 {func(*api) {}, map[string]Result{CheckHubAddress: Failed}, "no hub"},
		"who may not read it":            {without("/configmaps/fleet-controller", http.StatusForbidden), map[string]Result{CheckHubAddress: Failed}, "could not be read"},
		"a configuration that is broken": {configMap("{"), map[string]Result{CheckHubAddress: Failed}, "cannot be read"},
	} {
		t.Run(title, func(t *testing.T) {
			hub := newAPI(t, ca.pair(t, young, "127.0.0.1"), test.hub)
			report := look(t, kubeconfig(t, cluster.URL, ca.pem), Options{Other: other(hub, ca)})
			assert.Equal(t, test.want, results(report))
			assert.Contains(t, check(t, report, CheckHubAddress).Found, test.says)
		})
	}
	hub := newAPI(t, ca.pair(t, young, "127.0.0.1"), configMap(`{"apiServerURL":"https://hub","apiServerCA":"","agentTLSMode":"strict"}`))
	report := look(t, kubeconfig(t, cluster.URL, nil), Options{Other: other(hub, ca)})
	assert.Equal(t, Failed, check(t, report, CheckCA).Result, "the hub's mode is the one that counts")
}

func TestWhoseAgentItIs(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("no"))
	mark := registration.AgentOwner{Hub: "hub-uid", Cluster: "c", Namespace: "ws", Name: "edge"}
	oursAs := resident{namespace: "a", runs: true, reportsTo: "https://hub", as: "ws/edge"}
	ours, theirs := resident{namespace: "a", runs: true, reportsTo: "https://hub/"}, resident{namespace: "b", reportsTo: "https://other", as: "x/y"}
	for title, test := range map[string]struct {
		found []resident
		err   error
		hub   thisHub
		want  Result
		says  string
	}{
		"none":                     {nil, nil, thisHub{}, OK, "none"},
		"may not look":             {nil, forbidden, thisHub{}, Skipped, "may not look"},
		"no answer":                {nil, errNoAnswer, thisHub{}, Warning, "no answer in time"},
		"one, of a hub unknown":    {[]resident{ours}, nil, thisHub{}, Warning, "namespace a"},
		"one, of another hub":      {[]resident{theirs}, nil, thisHub{address: "https://hub"}, Warning, "namespace b"},
		"ours":                     {[]resident{ours}, nil, thisHub{address: "https://HUB:443"}, OK, "this hub's"},
		"ours, as a Cluster":       {[]resident{oursAs}, nil, thisHub{address: "https://hub"}, Warning, "is already Cluster ws/edge of this hub"},
		"ours and another's":       {[]resident{ours, theirs}, nil, thisHub{address: "https://hub"}, Warning, "reports to https://other as x/y"},
		"one that is told to join": {[]resident{{namespace: "a", reportsTo: "https://other", joins: "https://hub"}}, nil, thisHub{address: "https://hub"}, OK, "is to join https://hub"},
		"marked as ours":           {[]resident{{namespace: "a", marked: true, mark: mark}}, nil, thisHub{address: "https://moved", uid: "hub-uid"}, Warning, "is already Cluster ws/edge of this hub"},
		"marked as one that is gone": {[]resident{{namespace: "a", marked: true, mark: mark}}, nil,
			thisHub{uid: "hub-uid", gone: map[string]bool{"ws/edge": true}}, OK, "joins anew"},
		"marked as another's":   {[]resident{{namespace: "a", runs: true, reportsTo: "https://hub", marked: true, mark: mark}}, nil, thisHub{address: "https://hub", uid: "my-uid"}, Warning, "hub-uid"},
		"marked and unreadable": {[]resident{{namespace: "a", marked: true}}, nil, thisHub{uid: "my-uid"}, Warning, "cannot be read"},
		"secrets out of reach":  {[]resident{{namespace: "a", runs: true, unread: true, by: "a hub"}}, nil, thisHub{address: "https://hub"}, Warning, "may not be read"},
	} {
		f := decideAgents(test.found, test.err, test.hub, joiner{uid: "edge-uid"})
		assert.Equal(t, test.want, f.result, "%s: %+v", title, f)
		assert.Contains(t, f.found, test.says, title)
	}
}

// What cannot be told without the hub is not called another's.
func TestAnAgentOfAnUnknownHubLeadsToTheQuestionWhoseItIs(t *testing.T) {
	agent := []resident{{namespace: "a", runs: true, reportsTo: "https://hub", as: "ws/edge"}}
	assert.Contains(t, decideAgents(agent, nil, thisHub{}, joiner{}).remedy, "--kubeconfig of the hub")
	assert.Contains(t, decideAgents(agent, nil, thisHub{address: "https://other"}, joiner{}).remedy, "Move a cluster to another hub")
	assert.Equal(t, OK, decideAgents(agent, nil, thisHub{address: "https://hub"}, joiner{chart: true}).result, "a chart is given a new token")
}

// A hub joins itself: its own kubeconfig is not that of another cluster.
func TestAHubIsKnownByItsOwnKubeconfig(t *testing.T) {
	marked := []resident{{namespace: "a", runs: true, marked: true, mark: registration.AgentOwner{Hub: "uid", Cluster: "c", Namespace: "fleet-local", Name: "local"}}}
	for title, f := range map[string]finding{
		"without an agent":   decideAgents(nil, nil, thisHub{uid: "uid"}, joiner{uid: "uid"}),
		"by its mark":        decideAgents(marked, nil, thisHub{}, joiner{uid: "uid"}),
		"by its address":     decideAgents(nil, nil, thisHub{}, joiner{sameServer: true, chart: true}),
		"with all knowledge": decideAgents(marked, nil, thisHub{uid: "uid", address: "https://hub"}, joiner{uid: "uid"}),
	} {
		assert.Equal(t, Warning, f.result, title)
		assert.Contains(t, f.found, "is a hub itself", title)
	}
	assert.Equal(t, OK, decideAgents(nil, nil, thisHub{}, joiner{}).result, "two UIDs that are unknown are not the same")
}

// Every kind that an import applies is among what is asked for.
func TestTheRightsToImportAreThoseForTheAgentsObjects(t *testing.T) {
	objects, err := agentmanifest.Objects(agentmanifest.Options{Namespace: "ns", Image: "i"})
	require.NoError(t, err)
	needs := importNeeds("ns")
	for _, object := range objects {
		kind := object.GetObjectKind().GroupVersionKind()
		for _, verb := range []string{"list", "create", "get", "patch", "delete"} {
			assert.True(t, slices.ContainsFunc(needs, func(n need) bool {
				return n.verb == verb && n.group == kind.Group && strings.HasPrefix(n.resource, strings.TrimSuffix(strings.ToLower(kind.Kind), "y"))
			}), "%s %s", verb, kind)
		}
	}
}

func TestAnInstallerNeedsAllRightsOrTheRightToGiveThem(t *testing.T) {
	lacks := []need{{verb: "create", resource: "namespaces"}}
	for title, test := range map[string]struct {
		allowed allowed
		want    Result
	}{
		"all":                        {allowed{all: true}, OK},
		"gives, and lacks nothing":   {allowed{gives: true}, OK},
		"gives, and lacks something": {allowed{gives: true, refused: lacks}, Failed},
		"lacks nothing but to give":  {allowed{}, Failed},
		"lacks":                      {allowed{refused: lacks}, Failed},
		"unknown":                    {allowed{err: errNoAnswer}, Warning},
	} {
		f := decideInstaller(test.allowed, "x", "do it")
		assert.Equal(t, test.want, f.result, title)
	}
}
