package preflight

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
