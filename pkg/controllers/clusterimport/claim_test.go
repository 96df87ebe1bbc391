package clusterimport

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// ownerIn is whose mark is on a namespace.
func (d *downstream) ownerIn(namespace string) registration.AgentOwner {
	ns := d.Object("Namespace", "", namespace)
	if ns == nil {
		return registration.AgentOwner{}
	}
	owner, _, _ := registration.AgentOwnerOf(ns.GetAnnotations())
	return owner
}

// mark puts a value on a namespace, as somebody else would; none takes it off.
func (d *downstream) mark(t *testing.T, namespace, value string) {
	t.Helper()
	ns := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if value != "" {
		ns.Annotations = map[string]string{names.AgentOwnerAnnotation: value}
	}
	d.Put(ns)
}

func (h *hub) edgeMark() registration.AgentOwner { return h.me(h.cluster()) }

// second is another hub whose Cluster leads to the same place.
func second(t *testing.T, d *downstream) *hub {
	t.Helper()
	h := newHub(t)
	h.HubUID = anotherHub
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.UID = "uid-on-another-hub" }))
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig}))
	return h
}

// importNow does all that an import that is due needs.
func (h *hub) importNow(t *testing.T) {
	t.Helper()
	h.work1(t)
	if h.tokens.Live(workspace, tokenName) != nil {
		h.answerToken(t)
	}
	h.work1(t)
}

func TestAnImportMarksTheNamespaceBeforeItPutsAnythingThere(t *testing.T) {
	for name, found := range map[string]func(*testing.T, *downstream){
		"a new namespace":   func(*testing.T, *downstream) {},
		"one that is there": func(t *testing.T, d *downstream) { d.mark(t, system, "") },
		"one of a hub that moved": func(t *testing.T, d *downstream) {
			d.mark(t, system, `{"hub":"x","cluster":"y","namespace":"z","name":"n"}`)
		},
		"one with a mark of no form": func(t *testing.T, d *downstream) { d.mark(t, system, strings.Repeat("x", 100<<10)) },
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			found(t, d)
			h.importNow(t)
			require.Equal(t, "Imported", h.imported(t).Reason)
			assert.Equal(t, h.edgeMark(), d.ownerIn(system))
			assert.Contains(t, d.Writes()[0].Path, "/api/v1/namespaces")
		})
	}
}

func TestAMarkThatIsThereIsNotWrittenAgain(t *testing.T) {
	h, d := joined(t)
	version := d.Object("Namespace", "", system).GetResourceVersion()
	h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })
	h.importNow(t)
	require.Equal(t, "Imported", h.imported(t).Reason)
	assert.Equal(t, version, d.Object("Namespace", "", system).GetResourceVersion())
}

// Two who want one namespace at the same time: the API server decides, and the one that lost lets go.
func TestOfTwoWhoWriteTheMarkAtOnceOneWins(t *testing.T) {
	theirs := registration.AgentOwner{Hub: anotherHub, Cluster: "c", Namespace: "ws", Name: "n"}.Annotation()
	for name, before := range map[string]func(*testing.T, *downstream){
		"in a new namespace":   func(*testing.T, *downstream) {},
		"in one that is there": func(t *testing.T, d *downstream) { d.mark(t, system, "") },
		"in one to be replaced": func(t *testing.T, d *downstream) {
			d.mark(t, system, `{"hub":"x","cluster":"y","namespace":"z","name":"n"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			before(t, d)
			h.work1(t)
			h.answerToken(t)
			var once bool
			d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodGet && !once {
					once = true
					d.mark(t, system, theirs)
				}
				return false
			})
			h.work1(t)
			assert.Equal(t, "AgentNamespaceTaken", h.imported(t).Reason)
			assert.NotContains(t, d.objects(), "Deployment cattle-fleet-system/fleet-agent")
			assert.Equal(t, anotherHub, d.ownerIn(system).Hub)

			d.Intercept(nil)
			for range 3 {
				h.work1(t)
			}
			assert.Equal(t, anotherHub, d.ownerIn(system).Hub, "it lost for good, though it was its first import")
		})
	}
}

// A namespace that somebody else writes labels to is marked all the same.
func TestAChangeOfTheNamespaceMeanwhileIsNoLoss(t *testing.T) {
	h, d := importing(t)
	d.mark(t, system, "")
	h.work1(t)
	h.answerToken(t)
	var changes int
	d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/namespaces/"+system) && changes < 2 {
			changes++
			d.mark(t, system, "")
		}
		return false
	})
	h.work1(t)
	assert.Equal(t, 2, changes)
	assert.Equal(t, "Imported", h.imported(t).Reason)
	assert.Equal(t, h.edgeMark(), d.ownerIn(system))
}

// The place may be lost while objects are applied: the agent is then not given what it would register with.
func TestAPlaceThatIsLostInTheMiddleIsLeft(t *testing.T) {
	theirs := registration.AgentOwner{Hub: anotherHub, Cluster: "c", Namespace: "ws", Name: "n"}.Annotation()
	for name, value := range map[string]string{"to another": theirs, "its mark was taken off": ""} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			h.work1(t)
			h.answerToken(t)
			d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/deployments") && r.Method == http.MethodPost {
					d.mark(t, system, value)
				}
				return false
			})
			err := h.work(t.Context(), key)
			d.Intercept(nil)
			assert.NotContains(t, d.objects(), "Secret cattle-fleet-system/fleet-agent-bootstrap")
			if value == "" {
				require.ErrorContains(t, err, "taken off", "a person may have meant it, and is asked no more: it is taken anew")
				h.work1(t)
				assert.Equal(t, "Imported", h.imported(t).Reason)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "AgentNamespaceTaken", h.imported(t).Reason)
			assert.Equal(t, anotherHub, d.ownerIn(system).Hub)
		})
	}
}

func TestANamespaceThatIsBeingDeletedIsNotMarked(t *testing.T) {
	h, d := importing(t)
	d.Put(&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: system, Finalizers: []string{"a/b"}, DeletionTimestamp: &metav1.Time{Time: now}},
	})
	h.work1(t)
	h.answerToken(t)
	require.ErrorContains(t, h.work(t.Context(), key), "it is being deleted")
	assert.Contains(t, h.imported(t).Message, "namespace "+system)
	assert.Empty(t, d.Writes())
}

// A kubeconfig whose account may not look at namespaces, or not mark them.
func TestMissingRightsOnNamespacesAreSaid(t *testing.T) {
	for name, test := range map[string]struct{ method, path, says string }{
		"get":    {http.MethodGet, "/api/v1/namespaces/" + system, "reading namespace " + system},
		"create": {http.MethodPost, "/api/v1/namespaces", "marking namespace " + system},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			h.work1(t)
			h.answerToken(t)
			d.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != test.method || r.URL.Path != test.path {
					return false
				}
				kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, `User "x" cannot `+name+` resource "namespaces"`)
				return true
			})
			require.Error(t, h.work(t.Context(), key))
			assert.Equal(t, "Forbidden", h.imported(t).Reason)
			assert.Contains(t, h.imported(t).Message, test.says)
			assert.Contains(t, h.imported(t).Message, "fleet-default/kubeconfig")
		})
	}
}

// Whether the other Cluster still has the place decides what happens to its agent: not knowing is no answer.
func TestAnOtherClusterThatCannotBeReadKeepsItsPlace(t *testing.T) {
	h, d := importing(t)
	h.clusters.Add(rival(recorded(registration.Import{ClusterUID: d.uid, Namespace: system, Time: now})))
	d.mark(t, system, h.me(rival()).Annotation())
	h.work1(t)
	h.answerToken(t)
	h.clusters.Hide("another-workspace", "rival")
	const read = "get Cluster another-workspace/rival"
	h.fails[read] = apierrors.NewInternalError(errors.New("no"))
	require.ErrorContains(t, h.work(t.Context(), key), "another-workspace/rival")
	assert.Empty(t, d.Writes())

	h.fails[read] = apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, "rival")
	h.work1(t)
	assert.Equal(t, "Imported", h.imported(t).Reason)
	assert.Equal(t, h.edgeMark(), d.ownerIn(system))
}

func (h *hub) vacateFor(t *testing.T, d *downstream, namespace string) (bool, error) {
	t.Helper()
	f := h.client(t, d)
	client, err := h.connect(f)
	require.NoError(t, err)
	defer client.Close()
	return h.vacate(t.Context(), client, f, namespace)
}
