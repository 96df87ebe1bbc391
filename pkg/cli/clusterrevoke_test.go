package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
)

func revokedCluster(c *fleet.Cluster) { c.Spec.Revoked = true }

func placed(c *fleet.Cluster) { c.Status.Namespace = "cluster-x" }

// obey has the hub do what is ordered about a cluster, at the second look after it.
func (h *testHub) obey(name string, more ...func(http.ResponseWriter, *http.Request) bool) {
	looks := 0
	h.identify("jane", append(more, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/clusters/"+name) {
			return false
		}
		c := stored[fleet.Cluster](h, "Cluster", "fleet-default", name)
		said := conditionNow(fleet.ClusterConditionRevoked, corev1.ConditionFalse, "Revoking", "still to be taken away: 1 accounts")
		if looks++; looks > 3 && c.Spec.Revoked {
			said = conditionNow(fleet.ClusterConditionRevoked, corev1.ConditionTrue, "Revoked", "nothing is left")
		} else if looks > 3 {
			said = conditionNow(fleet.ClusterConditionRevoked, corev1.ConditionFalse, "Readmitted", "its agent has to register anew")
			c.Status.Namespace = "cluster-y"
		}
		c.Status.Conditions = []genericcondition.GenericCondition{said}
		h.put("Cluster", c)
		return false
	})...)
}

func TestARevocationIsWaitedForAndSaysWhatAWatchStillSees(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "edge-1", imports, placed))
	h.obey("edge-1")
	code, out, errOut := typed("cluster", "revoke", "edge-1")
	require.Zero(t, code, errOut)
	assert.True(t, stored[fleet.Cluster](h, "Cluster", "fleet-default", "edge-1").Spec.Revoked)
	assert.Contains(t, out, "fleet-default/edge-1: its agent has lost its access to the hub")
	assert.Contains(t, out, "namespace cluster-x")
	assert.Contains(t, out, "--cut-watches")
}

func TestARevocationNamesTheTokensByWhichTheClusterCouldComeBack(t *testing.T) {
	h := newTestHub(t, "")
	cluster := aCluster("fleet-default", "edge-1", placed, func(c *fleet.Cluster) { c.Spec.ClientID = "client-1" })
	h.put("Cluster", cluster)
	by := func(token, client string) {
		h.put("ClusterRegistration", aRequest("fleet-default", "request-"+token, func(r *fleet.ClusterRegistration) {
			r.Labels[names.RegistrationTokenLabel], r.Spec.ClientID = token, client
		}))
	}
	by("living", cluster.Spec.ClientID)
	by("ended", cluster.Spec.ClientID)
	by("gone", cluster.Spec.ClientID)
	by("named", cluster.Spec.ClientID)
	by("of-the-client", cluster.Spec.ClientID)
	by("of-others", "another-client")
	by("import-token-edge-1", cluster.Spec.ClientID)
	for _, name := range []string{"living", "of-others"} {
		h.put("ClusterRegistrationToken", aToken("fleet-default", name, usable))
	}
	h.put("ClusterRegistrationToken", aToken("fleet-default", "named", usable, func(t *fleet.ClusterRegistrationToken) { t.Spec.ClusterName = "edge-1" }))
	h.put("ClusterRegistrationToken", aToken("fleet-default", "of-the-client", usable, func(t *fleet.ClusterRegistrationToken) {
		t.Spec.ClientIDs = []string{cluster.Spec.ClientID}
	}))
	h.put("ClusterRegistrationToken", aToken("fleet-default", "ended", usable, func(t *fleet.ClusterRegistrationToken) {
		t.Status.Expires = &metav1.Time{Time: fixtureNow().Add(-time.Hour)}
	}))
	h.put("ClusterRegistrationToken", aToken("fleet-default", "import-token-edge-1", usable, func(t *fleet.ClusterRegistrationToken) {
		t.OwnerReferences = []metav1.OwnerReference{{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "Cluster", Name: "edge-1"}}
	}))
	h.obey("edge-1")
	code, out, errOut := typed("cluster", "revoke", "edge-1")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "`fleet token delete living -n fleet-default`")
	assert.Empty(t, errOut)
}

func TestAReadmittedClusterSaysWhatItsAgentNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fleet.Cluster)
		says   string
	}{
		"imported":            {imports, "the hub imports it again by itself"},
		"joined by its agent": {placed, "fleet token create NAME -n fleet-default --cluster-name edge-1 --wait"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHub(t, "")
			h.put("Cluster", aCluster("fleet-default", "edge-1", test.change, revokedCluster))
			h.obey("edge-1")
			code, out, errOut := typed("cluster", "readmit", "edge-1", "-o", "json")
			require.Zero(t, code, errOut)
			var done revocation
			require.NoError(t, json.Unmarshal([]byte(out), &done))
			assert.False(t, done.Revoked)
			assert.Equal(t, "cluster-y", done.Namespace)
			assert.Contains(t, done.Result, test.says)
		})
	}
}

func TestARevocationThatTheHubDoesNotCarryOutHoldsAllTheSame(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "edge-1"))
	code, _, errOut := typed("cluster", "revoke", "edge-1", "--timeout", "1s")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "spec.revoked is true, and holds; waited 1s in vain")
	assert.Contains(t, errOut, "does its controller run?")
	assert.True(t, stored[fleet.Cluster](h, "Cluster", "fleet-default", "edge-1").Spec.Revoked)
}

func TestOrdersWithoutSenseAreRefused(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "mine"))
	h.put("Cluster", aCluster("fleet-default", "theirs", func(c *fleet.Cluster) { c.Labels = map[string]string{names.ClusterManagementLabel: "x"} }))
	h.put("Cluster", aCluster("fleet-default", "going", func(c *fleet.Cluster) {
		c.DeletionTimestamp, c.Finalizers = ptr(metav1.Now()), []string{names.ClusterFinalizer}
	}))
	h.Reset()
	for line, says := range map[string]string{
		"readmit mine":  "cluster fleet-default/mine: it is not revoked",
		"revoke theirs": "another manager has it",
		"revoke going":  "it is being deleted",
		"revoke nope":   "there is no Cluster nope",
		"approve mine":  "there is nothing to approve",
	} {
		code, _, errOut := typed(append([]string{"cluster"}, strings.Fields(line)...)...)
		assert.Equal(t, 1, code, line)
		assert.Contains(t, errOut, says, line)
	}
	code, out, _ := typed("cluster", "revoke", "mine", "--dry-run")
	assert.Zero(t, code)
	assert.Contains(t, out, "would be: ")
	assert.Empty(t, h.Writes())
}

// definitionOfDeployments is the kind as chart fleet-crd has it, in short.
func definitionOfDeployments() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": names.DeploymentDefinition},
		"spec": map[string]any{"group": "fleet.cattle.io", "versions": []any{map[string]any{
			"name": "v1alpha1", "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "description": "A deployment."}},
		}}},
	}}
}

var definitionKind = kubetest.Kind{
	GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	Resource:         "customresourcedefinitions",
}

func descriptionOf(t *testing.T, definition map[string]any) string {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	require.NoError(t, err)
	text, _, err := unstructured.NestedString(versions[0].(map[string]any), "schema", "openAPIV3Schema", "description")
	require.NoError(t, err)
	return text
}

func TestWatchesAreCutByADescriptionAlone(t *testing.T) {
	h := newTestHub(t, "", append(kubetest.HubKinds(), definitionKind)...)
	h.Put(definitionOfDeployments())
	h.put("Cluster", aCluster("fleet-default", "edge-1", placed))
	h.obey("edge-1")
	code, out, errOut := typed("cluster", "revoke", "edge-1", "--cut-watches")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "all watches on BundleDeployments were ended")
	definition := h.Object("CustomResourceDefinition", "", names.DeploymentDefinition)
	first := descriptionOf(t, definition.Object)
	assert.True(t, strings.HasPrefix(first, "A deployment."+cutMark), first)

	code, _, errOut = typed("cluster", "revoke", "edge-1", "--cut-watches")
	require.Zero(t, code, errOut)
	definition = h.Object("CustomResourceDefinition", "", names.DeploymentDefinition)
	second := descriptionOf(t, definition.Object)
	assert.NotEqual(t, first, second)
	assert.Equal(t, 1, strings.Count(second, cutMark), "it does not grow")

	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(versions[0].(map[string]any), "A deployment.", "schema", "openAPIV3Schema", "description"))
	assert.Equal(t, definitionOfDeployments().Object["spec"].(map[string]any)["versions"], versions, "the rest is as it was")
}

func TestWhoMayNotCutWatchesIsToldThatTheRestIsDone(t *testing.T) {
	h := newTestHub(t, "", append(kubetest.HubKinds(), definitionKind)...)
	h.put("Cluster", aCluster("fleet-default", "edge-1", placed))
	h.obey("edge-1", forbids("/customresourcedefinitions/"))
	code, _, errOut := typed("cluster", "revoke", "edge-1", "--cut-watches")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "cluster fleet-default/edge-1 is revoked, but its watches were not cut: that needs the right to get and update CustomResourceDefinition bundledeployments.fleet.cattle.io")
	assert.True(t, stored[fleet.Cluster](h, "Cluster", "fleet-default", "edge-1").Spec.Revoked)
}

func TestADefinitionThatIsNoneIsNotWritten(t *testing.T) {
	for _, definition := range []map[string]any{{}, {"spec": map[string]any{"versions": "x"}}, {"spec": map[string]any{"versions": []any{}}},
		{"spec": map[string]any{"versions": []any{map[string]any{"schema": "x"}}}}} {
		assert.Error(t, markDescriptions(definition, time.Now()))
	}
}

func TestASuspicionIsTakenOffByAPerson(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "edge-1", func(c *fleet.Cluster) {
		c.Annotations[names.CloneAnnotation] = `{"why":"they take turns","instances":["one","two"],"time":"2026-03-01T12:00:00Z"}`
		c.Annotations["mine"] = "kept"
	}))
	h.Reset()
	code, out, errOut := typed("cluster", "approve", "edge-1", "--dry-run")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "they take turns (one, two)")
	assert.Empty(t, h.Writes())

	code, out, errOut = typed("cluster", "approve", "edge-1")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "is approved")
	assert.Equal(t, map[string]string{"mine": "kept"}, stored[fleet.Cluster](h, "Cluster", "fleet-default", "edge-1").Annotations)
}

func TestASuspicionThatIsNewerThanWhatWasReadStands(t *testing.T) {
	h := newTestHub(t, "")
	suspected := func(why string) func(*fleet.Cluster) {
		return func(c *fleet.Cluster) { c.Annotations[names.CloneAnnotation] = `{"why":"` + why + `"}` }
	}
	h.put("Cluster", aCluster("fleet-default", "edge-1", suspected("first")))
	patches := 0
	h.identify("jane", func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			if patches++; patches == 1 {
				c := stored[fleet.Cluster](h, "Cluster", "fleet-default", "edge-1")
				suspected("second")(c)
				h.put("Cluster", c)
			}
		}
		return false
	})
	code, _, errOut := typed("cluster", "approve", "edge-1")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "has changed since it was read")
	assert.NotEmpty(t, stored[fleet.Cluster](h, "Cluster", "fleet-default", "edge-1").Annotations[names.CloneAnnotation])
}
