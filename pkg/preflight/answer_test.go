package preflight

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// Each of the calls has the time of one: a cluster that is merely slow, and has several agents, is looked at to the end.
func TestACheckOfManyCallsHasTimeForEachOfThem(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	const late, limit = 250 * time.Millisecond, 2 * time.Second
	agents := &appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"}}
	for _, place := range []string{"a", "b", "c", "d"} {
		agents.Items = append(agents.Items, appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "fleet-agent"}})
	}
	var calls atomic.Int32
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) {
		a.objects["/apis/apps/v1/deployments"] = agents
		a.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet && r.URL.Path != "/version" {
				calls.Add(1)
				select {
				case <-r.Context().Done():
				case <-time.After(late):
				}
			}
			return false
		}
	})
	report := look(t, kubeconfig(t, server.URL, ca.pem), Options{StepLimit: limit})
	require.Greater(t, late*time.Duration(calls.Load()), limit, "all calls together take longer than one may")
	c := check(t, report, CheckAgent)
	assert.Equal(t, Warning, c.Result, "%+v", c)
	for _, place := range []string{"a", "b", "c", "d"} {
		assert.Contains(t, c.Found, "there is an agent in namespace "+place)
	}
}
