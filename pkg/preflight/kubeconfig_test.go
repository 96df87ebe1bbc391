package preflight

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/pkg/kube"
)

type cluster = clientcmdapi.Cluster
type user = clientcmdapi.AuthInfo

func TestAGoodKubeconfigPasses(t *testing.T) {
	ca := newAuthority(t, "cluster-ca", young)
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) { a.token = secretText })

	report := look(t, kubeconfig(t, server.URL, ca.pem), Options{TLSMode: kube.TLSStrict})

	assert.Empty(t, results(report))
	assert.Zero(t, report.Failures())
	assert.Equal(t, KindKubeconfig, report.Input)
	assert.Equal(t, server.URL, report.Address)
	var names []string
	for _, c := range report.Checks {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{
		CheckInput, CheckCA, CheckProxy, CheckDNS, CheckConnect, CheckTLS, CheckAnswer, CheckClock, CheckToken,
		CheckAuthentication, CheckVersion, CheckPermissions, CheckAgent, CheckHubAddress,
	}, names)
	assert.Contains(t, check(t, report, CheckAuthentication).Found, "system:serviceaccount:ns:importer")
	assert.Contains(t, check(t, report, CheckVersion).Found, "v1.37.2")
	assert.Equal(t, Skipped, check(t, report, CheckHubAddress).Result)
	assert.Equal(t, Skipped, check(t, report, CheckDNS).Result, "it is an address")
}

// T03: the certificate that is really served is shown, so that it can be compared.
func TestAWrongCAShowsWhatIsServed(t *testing.T) {
	right, wrong := newAuthority(t, "right", young), newAuthority(t, "wrong", young)
	pair := right.pair(t, young, "127.0.0.1")
	server := newAPI(t, pair)

	report := look(t, kubeconfig(t, server.URL, wrong.pem), Options{TLSMode: kube.TLSStrict})

	c := check(t, report, CheckTLS)
	assert.Equal(t, Failed, c.Result)
	assert.Contains(t, c.Found, `issuer "CN=right"`)
	assert.Contains(t, c.Found, fingerprint(parsed(t, encode("CERTIFICATE", pair.Certificate[0]))))
	assert.Contains(t, c.Found, "strict trusts alone")
	assert.Contains(t, c.Remedy, "certificate-authority-data")
	for _, later := range []string{CheckAnswer, CheckClock, CheckAuthentication, CheckVersion, CheckPermissions, CheckAgent} {
		assert.Equal(t, Skipped, check(t, report, later).Result)
		assert.Contains(t, check(t, report, later).Found, "because check tls failed")
	}
	assert.Zero(t, server.asked.Load(), "no credential goes to a server that is not trusted")
}

func TestAWrongNameShowsTheNamesOfTheCertificate(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	server := newAPI(t, ca.pair(t, young, "api.example.test", "10.1.2.3"))

	report := look(t, kubeconfig(t, server.URL, ca.pem), Options{})

	c := check(t, report, CheckTLS)
	assert.Equal(t, Failed, c.Result)
	assert.Contains(t, c.Found, "not for 127.0.0.1")
	assert.Contains(t, c.Found, "api.example.test, 10.1.2.3")
	assert.Contains(t, c.Remedy, "cluster.server")

	report = look(t, kubeconfig(t, server.URL, ca.pem, func(c *cluster, _ *user) { c.TLSServerName = "api.example.test" }), Options{})
	assert.Empty(t, results(report), "tls-server-name is the way out")
}

func TestEverythingThatIsWrongWithACertificateIsSaidAtOnce(t *testing.T) {
	ca, other := newAuthority(t, "ca", young), newAuthority(t, "other", young)
	server := newAPI(t, ca.pair(t, ended, "api.example.test"))

	c := check(t, look(t, kubeconfig(t, server.URL, other.pem), Options{}), CheckTLS)

	assert.Contains(t, c.Found, "ended at")
	assert.Contains(t, c.Found, "not for 127.0.0.1")
	assert.Contains(t, c.Found, "not trusted")
}

func TestTimesOfCertificates(t *testing.T) {
	for name, test := range map[string]struct {
		ca, server, client life
		want               map[string]Result
		says               string
	}{
		"all young":                    {young, young, young, map[string]Result{}, ""},
		"the server's has ended":       {young, ended, young, map[string]Result{CheckTLS: Failed}, "ended at"},
		"the server's is to come":      {young, toCome, young, map[string]Result{CheckTLS: Failed}, "begins at"},
		"the server's ends soon":       {young, old, young, map[string]Result{CheckTLS: Warning}, "ends in"},
		"the CA ends soon":             {old, young, young, map[string]Result{CheckCA: Warning}, "left"},
		"the CA has ended":             {ended, young, young, map[string]Result{CheckCA: Failed}, "has ended"},
		"the client's has ended":       {young, young, ended, map[string]Result{CheckClientCertificate: Failed}, "has ended"},
		"the client's ends soon":       {young, young, old, map[string]Result{CheckClientCertificate: Warning}, "left"},
		"the client's is yet to begin": {young, young, toCome, map[string]Result{CheckClientCertificate: Failed}, "begins at"},
	} {
		t.Run(name, func(t *testing.T) {
			ca := newAuthority(t, "ca", test.ca)
			cert, key := ca.issue(t, "importer", test.client)
			server := newAPI(t, ca.pair(t, test.server, "127.0.0.1"))

			report := look(t, kubeconfig(t, server.URL, ca.pem, func(_ *cluster, u *user) {
				u.Token, u.ClientCertificateData, u.ClientKeyData = "", cert, key
			}), Options{})

			require.Equal(t, test.want, results(report))
			for check := range test.want {
				assert.Contains(t, find(report, check).Found, test.says)
			}
		})
	}
}

func TestMissingRightsAreNamed(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	edit := func(s authorizationv1.SelfSubjectAccessReviewSpec) bool {
		r := s.ResourceAttributes
		return r != nil && r.Namespace == "fleet-ns" && r.Resource != "secrets"
	}
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) { a.may = edit })

	c := check(t, look(t, kubeconfig(t, server.URL, ca.pem), Options{AgentNamespace: "fleet-ns"}), CheckPermissions)

	assert.Equal(t, Failed, c.Result)
	assert.Contains(t, c.Found, "create on namespaces")
	assert.Contains(t, c.Found, "get, create, update, delete on secrets in namespace fleet-ns")
	assert.Contains(t, c.Found, "list, create, get, patch, delete on clusterroles.rbac.authorization.k8s.io")
	assert.NotContains(t, c.Found, "deployments")
	assert.Contains(t, c.Remedy, "cluster-admin")
}

func TestWhoeverMayDoEverythingIsAskedNothingElse(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	var asked []string
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"))
	report := look(t, kubeconfig(t, server.URL, ca.pem), Options{})
	server.requests.Range(func(key, _ any) bool { asked = append(asked, key.(string)); return true })
	assert.Equal(t, OK, check(t, report, CheckPermissions).Result)
	for _, request := range asked {
		assert.True(t, strings.HasPrefix(request, "GET ") || strings.HasSuffix(request, "reviews"), "nothing is written: %s", request)
	}
	assert.LessOrEqual(t, server.asked.Load(), int32(9))
}
