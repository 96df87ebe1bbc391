package clusterimport

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// answer is how a foreign cluster answers a call instead of doing what it is asked.
type answer func(d *downstream, w http.ResponseWriter, r *http.Request)

func status(code int, reason metav1.StatusReason) answer {
	return func(_ *downstream, w http.ResponseWriter, _ *http.Request) {
		kubetest.Fail(w, code, reason, "injected")
	}
}

// readsOnly answers a read with a document, and a write, which would be a lie that nobody can see through, with an error.
func readsOnly(document string) answer {
	return func(d *downstream, w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			status(http.StatusInternalServerError, metav1.StatusReasonInternalError)(d, w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(document))
	}
}

// hangs gives no answer. What kinds there are is asked without regard to the end of the import, and takes up to callTimeout.
func hangs(d *downstream, w http.ResponseWriter, r *http.Request) {
	if len(strings.Split(strings.Trim(r.URL.Path, "/"), "/")) < 4 && !strings.Contains(r.URL.Path, "namespaces") {
		status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)(d, w, r)
		return
	}
	d.Hang(r)
}

// badAnswers are by what is wrong with them.
var badAnswers = map[string]answer{
	"400":            status(http.StatusBadRequest, metav1.StatusReasonBadRequest),
	"401":            status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized),
	"403":            status(http.StatusForbidden, metav1.StatusReasonForbidden),
	"404":            status(http.StatusNotFound, metav1.StatusReasonNotFound),
	"409":            status(http.StatusConflict, metav1.StatusReasonConflict),
	"409, it exists": status(http.StatusConflict, metav1.StatusReasonAlreadyExists),
	"422":            status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid),
	"500":            status(http.StatusInternalServerError, metav1.StatusReasonInternalError),
	"504":            status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout),
	"hangs":          hangs,
	"is cut": func(*downstream, http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	},
	"no JSON": func(_ *downstream, w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>login</html>"))
	},
	"null":            readsOnly("null"),
	"an empty object": readsOnly("{}"),
}

// injured has an import due whose n-th call is answered badly. It returns what undoes that, and how many calls were made.
func injured(t *testing.T, n int, bad answer) (h *hub, d *downstream, calls func() int) {
	t.Helper()
	h, d = importing(t)
	h.work1(t)
	h.answerToken(t)
	made := make(chan int, 1)
	made <- 0
	d.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		count := <-made + 1
		made <- count
		if count != n {
			return false
		}
		bad(d, w, r)
		return true
	})
	return h, d, func() int {
		count := <-made
		made <- count
		return count
	}
}

// A01: whatever an API answers, at whichever call of an import: it is tried again or said, nothing panics, and the next
// import completes what was begun.
func TestEachBadAnswerAtEachCallIsSurvived(t *testing.T) {
	h, clean, calls := injured(t, 0, nil)
	h.work1(t)
	want, all := clean.objects(), calls()
	require.Greater(t, all, 20)

	for name, bad := range badAnswers {
		t.Run(name, func(t *testing.T) {
			step, patience := 1, importPatience
			if name == "hangs" {
				step, patience = 3, 300*time.Millisecond // each of them takes that long
			}
			for n := 1; n <= all; n += step {
				h, d, _ := injured(t, n, bad)
				h.patience = patience
				err := h.work(t.Context(), key)
				done := h.cluster().Status.AgentDeployedGeneration != nil
				if err == nil && !done {
					require.Equal(t, metav1.ConditionFalse, metav1.ConditionStatus(h.imported(t).Status), "call %d: neither done nor said", n)
				}
				if err != nil {
					require.NotEmpty(t, h.imported(t).Message, "call %d", n)
				}
				d.Intercept(nil)
				h.patience = importPatience
				h.work1(t)
				require.Equal(t, "Imported", h.imported(t).Reason, "call %d", n)
				require.Equal(t, want, d.objects(), "call %d", n)
				require.Equal(t, h.edgeMark(), d.ownerIn(system), "call %d", n)
			}
		})
	}
}

// The same of the hub's own API.
func TestEachErrorOfTheHubIsSurvived(t *testing.T) {
	clusters := schema.GroupResource{Group: "fleet.cattle.io", Resource: "clusters"}
	failures := map[string]error{
		"403": apierrors.NewForbidden(clusters, edge, errors.New("injected")), "404": apierrors.NewNotFound(clusters, edge),
		"409": apierrors.NewConflict(clusters, edge, errors.New("injected")), "exists": apierrors.NewAlreadyExists(clusters, edge),
		"500": apierrors.NewInternalError(errors.New("injected")), "timeout": apierrors.NewTimeoutError("injected", 1),
		"no answer": errors.New("connection refused"),
	}
	for name, failure := range failures {
		for _, call := range []string{createToken, deleteToken, noteRecord, noteStatus, "get Cluster " + key} {
			t.Run(name+" to "+call, func(t *testing.T) {
				h, d := joined(t)
				h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })
				h.fails[call] = failure
				for range 3 {
					_ = h.work(t.Context(), key)
					if h.tokens.Live(workspace, tokenName) != nil {
						h.answerToken(t)
					}
				}
				assert.Equal(t, h.edgeMark(), d.ownerIn(system))
				delete(h.fails, call)
				for range 2 {
					h.work1(t)
					h.answerToken(t)
				}
				h.work1(t)
				assert.Equal(t, "Imported", h.imported(t).Reason)
				assert.Equal(t, int64(1), *h.cluster().Status.AgentDeployedGeneration)
			})
		}
	}
}
