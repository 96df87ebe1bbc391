package preflight

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
				assert.Contains(t, report.check(check).Found, test.says)
			}
		})
	}
}

func (r Report) check(name string) Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return Check{}
}

func TestClocksThatDifferAreSeenByTheDateOfTheAnswer(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	for ahead, want := range map[time.Duration]Result{0: OK, 30 * time.Second: OK, -30 * time.Second: OK, 10 * time.Minute: Warning, -3 * time.Hour: Warning} {
		server := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) { a.ahead = ahead })
		c := check(t, look(t, kubeconfig(t, server.URL, ca.pem), Options{}), CheckClock)
		assert.Equal(t, want, c.Result, "%s: %+v", ahead, c)
	}
}

func TestATokenIsJudgedByTheServersClock(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	for name, test := range map[string]struct {
		token life
		ahead time.Duration
		want  Result
	}{
		"good":                               {life{-time.Hour, 100 * time.Hour}, 0, OK},
		"nearly over":                        {life{-90 * time.Hour, 10 * time.Hour}, 0, Warning},
		"over":                               {life{-2 * time.Hour, -time.Hour}, 0, Failed},
		"over there, not here":               {life{-time.Hour, time.Hour}, 2 * time.Hour, Failed},
		"over here, not there":               {life{-10 * time.Hour, -time.Hour}, -8 * time.Hour, Warning},
		"made by a server that is ahead":     {life{time.Hour, 100 * time.Hour}, time.Hour, Warning},
		"not yet good by the server's clock": {life{-time.Minute, 100 * time.Hour}, -time.Hour, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) { a.ahead = test.ahead })
			document := kubeconfig(t, server.URL, ca.pem, func(_ *cluster, u *user) { u.Token = importToken(test.token) })
			c := check(t, look(t, document, Options{}), CheckToken)
			assert.Equal(t, test.want, c.Result, "%+v", c)
		})
	}
}

func TestWhatAServerSaysOfACredential(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	for name, test := range map[string]struct {
		change func(*api)
		user   func(*cluster, *user)
		want   Result
		says   string
	}{
		"401":                  {func(a *api) { a.token = "another" }, nil, Failed, "refuses the token (401)"},
		"401 and no token":     {func(a *api) { a.token = "another" }, func(_ *cluster, u *user) { u.Token = "" }, Failed, "there is none"},
		"anonymous":            {func(a *api) { a.user = "system:anonymous" }, nil, Failed, "token does not arrive"},
		"anonymous, no token":  {func(a *api) { a.user = "system:anonymous" }, func(_ *cluster, u *user) { u.Token = "" }, Failed, "no credential"},
		"a password":           {func(a *api) { a.token = "another" }, func(_ *cluster, u *user) { u.Token, u.Username, u.Password = "", "jane", secretText }, Failed, "user name and password"},
		"an old server":        {without("/selfsubjectreviews", http.StatusNotFound), nil, Skipped, "too old"},
		"forbidden to ask":     {without("/selfsubjectreviews", http.StatusForbidden), nil, Warning, "does not let it ask"},
		"a server in trouble":  {without("/selfsubjectreviews", http.StatusInternalServerError), nil, Failed, "did not say"},
		"a server that echoes": {echoes, nil, Failed, "did not say"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPI(t, ca.pair(t, young, "127.0.0.1"), test.change)
			var change []func(*cluster, *user)
			if test.user != nil {
				change = append(change, test.user)
			}
			c := check(t, look(t, kubeconfig(t, server.URL, ca.pem, change...), Options{}), CheckAuthentication)
			assert.Equal(t, test.want, c.Result, "%+v", c)
			assert.Contains(t, c.Found, test.says)
		})
	}
}

// without answers a path with a code.
func without(suffix string, code int) func(*api) {
	return func(a *api) {
		a.before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, suffix) {
				return false
			}
			status(w, code, metav1.StatusReason(http.StatusText(code)), "no")
			return true
		}
	}
}

// echoes repeats the credential in an error, with what a terminal would act on, at length.
func echoes(a *api) {
	a.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/version" {
			return false
		}
		status(w, http.StatusInternalServerError, "", "\x1b[2J\u202e"+r.Header.Get("Authorization")+strings.Repeat("x", 100_000))
		return true
	}
}

func TestTextsOfAServerAreBoundedAndPrintable(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), echoes)

	report := look(t, kubeconfig(t, server.URL, ca.pem), Options{})

	for _, c := range report.Checks {
		assert.Equal(t, printable(c.Found, maxSentence), c.Found)
		assert.Less(t, len(c.Found), 2*maxSentence)
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
	assert.LessOrEqual(t, server.asked.Load(), int32(8))
}

func TestWhatIsNoAPIServer(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		says   string
	}{
		"a page":           {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello") }, "no version"},
		"an endless page":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(zeros{}, 100<<20)) }, "no version"},
		"nothing there":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "404"},
		"an upset gateway": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "502"},
		"too many":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "429"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://user:"+secretText+"@169.254.169.254/latest?token="+secretText, http.StatusFound)
		}, "redirect (302) to https://169.254.169.254/latest, and none is followed"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) {
				a.before = func(w http.ResponseWriter, r *http.Request) bool { test.answer(w, r); return true }
			})
			report := look(t, kubeconfig(t, server.URL, ca.pem), Options{})
			assert.Equal(t, map[string]Result{CheckAnswer: Failed}, results(report))
			assert.Contains(t, check(t, report, CheckAnswer).Found, test.says)
			assert.EqualValues(t, 1, server.asked.Load())
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestWhoDoesNotAnswerIsNotWaitedForLong(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	const short = 300 * time.Millisecond
	silent := func(w http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := listener.Addr().String()
	require.NoError(t, listener.Close())
	plain := newProxy(t, nobody, nil)
	dripping := func(w http.ResponseWriter, r *http.Request) bool {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(short / 20):
			}
		}
		return true
	}
	for name, test := range map[string]struct {
		url, check, says string
	}{
		"a black hole":           {"https://" + blackHole(t), CheckTLS, "then said nothing"},
		"nobody":                 {"https://" + nobody, CheckConnect, "refused"},
		"plain HTTP":             {"https://" + plain.Listener.Addr().String(), CheckTLS, "does not speak TLS"},
		"TLS and then silence":   {newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) { a.before = silent }).URL, CheckAnswer, "gave no answer"},
		"an answer in drops":     {newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) { a.before = dripping }).URL, CheckAnswer, "gave no answer"},
		"a name that is unknown": {"https://nowhere.invalid", CheckDNS, "cannot be resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			limit := short
			if test.check == CheckDNS {
				limit = stepLimit
			}
			began := time.Now()
			report := look(t, kubeconfig(t, test.url, ca.pem), Options{StepLimit: limit})
			assert.Less(t, time.Since(began), 30*short+limit)
			require.Equal(t, map[string]Result{test.check: Failed}, results(report), "%+v", report)
			assert.Contains(t, check(t, report, test.check).Found, test.says)
		})
	}
}

func TestAServerThatFallsSilentLaterIsNotWaitedForLong(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) {
		a.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/version" || strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
				return false
			}
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return true
		}
	})
	report := look(t, kubeconfig(t, server.URL, ca.pem), Options{StepLimit: 300 * time.Millisecond})
	assert.Equal(t, map[string]Result{CheckPermissions: Warning, CheckAgent: Warning}, results(report))
}
