package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// A namespace that a context has for other purposes is not where clusters are looked for.
func TestTheUsualWorkspaceIsTheContextsIfItIsOne(t *testing.T) {
	for namespace, want := range map[string]string{
		"": "fleet-default", "kube-system": "fleet-default", "default": "fleet-default", "fleet-default": "fleet-default",
		"team-a": "team-a", "team-b": "team-b", "team-c": "team-c",
	} {
		t.Run(namespace, func(t *testing.T) {
			h := newTestHub(t, namespace)
			h.put("Cluster", aCluster("team-a", "any"))
			h.put("ClusterRegistrationToken", aToken("team-b", "any"))
			h.put("ClusterRegistration", aRequest("team-c", "request-any"))
			code, _, errOut := typed("token", "create", "edge")
			require.Zero(t, code, errOut)
			assert.NotNil(t, h.Object("ClusterRegistrationToken", want, "edge"))
		})
	}
}

func TestANamespaceThatMayNotBeLookedAtIsBelievedToBeAWorkspace(t *testing.T) {
	h := newTestHub(t, "team-a")
	h.identify("jane", func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
		}
		return r.Method == http.MethodGet
	})
	code, _, errOut := typed("token", "create", "edge")
	require.Zero(t, code, errOut)
	assert.NotNil(t, h.Object("ClusterRegistrationToken", "team-a", "edge"))
}

// Who may see one workspace alone sees that one, unless all were insisted on.
func TestWhoMayNotListAllWorkspacesSeesTheUsualOne(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "edge-1"))
	h.identify("jane", func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/apis/fleet.cattle.io/v1alpha1/cluster") {
			kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "you may not list all")
			return true
		}
		return false
	})
	code, out, errOut := typed("cluster", "list")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "edge-1")
	assert.Equal(t, "You may not list all workspaces; this is fleet-default.\n", errOut)

	code, out, errOut = typed("cluster", "list", "-A")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "you may not list all")
}

func TestClustersAreListedForPrograms(t *testing.T) {
	h := newTestHub(t, "")
	h.joined("fleet-default", "edge-1")
	h.put("Cluster", aCluster("a-workspace", "edge-2", imports))
	h.conflicting("fleet-default", "edge-1")
	code, out, errOut := typed("cluster", "list", "-o", "json")
	require.Zero(t, code, errOut)
	var list items[clusterRow]
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Items, 2)
	assert.Equal(t, clusterRow{Workspace: "a-workspace", Name: "edge-2", State: "Registering", JoinedBy: "manager", WaitsFor: "waiting for the agent's first heartbeat"}, list.Items[0])
	assert.Equal(t, "request request-other: IdentityConflict", list.Items[1].WaitsFor)
	code, out, _ = typed("cluster", "list", "-n", "nope", "-o", "yaml")
	assert.Zero(t, code)
	assert.Equal(t, "items: []\n", out)
}

// Lists are read page by page, however long they are.
func TestListsAreReadInPages(t *testing.T) {
	h := newTestHub(t, "")
	pages := 0
	h.identify("jane", func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/clusterregistrationtokens") {
			return false
		}
		assert.Equal(t, fmt.Sprint(pageSize), r.URL.Query().Get("limit"))
		next, continued := "", r.URL.Query().Get("continue")
		if pages++; pages < 3 {
			next = fmt.Sprintf("page-%d", pages)
		}
		assert.Equal(t, pages == 1, continued == "")
		token := aToken("ws", fmt.Sprintf("token-%d", pages))
		token.TypeMeta = metav1.TypeMeta{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "ClusterRegistrationToken"}
		list := fleet.ClusterRegistrationTokenList{
			TypeMeta: metav1.TypeMeta{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "ClusterRegistrationTokenList"},
			ListMeta: metav1.ListMeta{Continue: next}, Items: []fleet.ClusterRegistrationToken{*token},
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
		return true
	})
	code, out, errOut := typed("token", "list", "-o", "json")
	require.Zero(t, code, errOut)
	for _, name := range []string{"token-1", "token-2", "token-3"} {
		assert.Contains(t, out, name)
	}
}

func TestTextOfAHubIsShownWithoutWhatATerminalActsOnInEveryForm(t *testing.T) {
	h := newTestHub(t, "")
	h.put("ClusterRegistrationToken", aToken("fleet-default", "edge", notReady("x\x1b[2J\u202e")))
	for _, form := range forms {
		code, out, errOut := typed("token", "list", "-o", form)
		require.Zero(t, code, errOut)
		assert.Contains(t, out, "x?[2J?", form)
		assert.NotContains(t, out, "\x1b", form)
	}
}
