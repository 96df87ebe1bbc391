package drift_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/pkg/agent/drift"
)

func namespaceOf(prefix string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
}

// find is an object of a release.
func find(t *testing.T, wanted drift.Wanted, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, obj := range wanted.Objects {
		if obj.GetKind() == kind && obj.GetName() == name {
			return obj
		}
	}
	require.Failf(t, "not in the release", "%s %s", kind, name)
	return nil
}

// change patches a live object, as kubectl does.
func (b *bed) change(wanted drift.Wanted, kind, name, patch string) {
	b.t.Helper()
	obj := find(b.t, wanted, kind, name)
	_, err := b.resource(obj, wanted.Namespace).Patch(b.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(b.t, err)
}

// H06: what the server, its controllers and webhooks make of a manifest is no drift.
func TestWhatTheClusterMakesOfManifestsIsNoDrift(t *testing.T) {
	b := newBed(t)
	wanted := b.release("kinds.yaml", b.namespace())
	b.install(wanted)
	result := b.status(wanted)
	require.Empty(t, texts(result))
	assert.Equal(t, len(wanted.Objects), result.ResourceCounts.DesiredReady)

	// Others do what they do: inject a CA, scale within the bounds, inject a container.
	ca := b.caBundle()
	b.change(wanted, "ValidatingWebhookConfiguration", wanted.Hash, `{"webhooks":[{"name":"one.example.com","admissionReviewVersions":["v1"],
		"sideEffects":"None","failurePolicy":"Ignore","clientConfig":{"service":{"name":"none","namespace":"`+wanted.Hash+`","path":"/x"},"caBundle":"`+ca+`"},
		"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nothing"]}]}]}`)
	b.change(wanted, "Deployment", "a", `{"spec":{"replicas":5},"metadata":{"annotations":{"tool.example.com/note":"x"}}}`)
	b.change(wanted, "ServiceAccount", "a", `{"imagePullSecrets":[{"name":"added"}]}`)
	b.change(wanted, "ConfigMap", "a", `{"data":{"added":"x"},"metadata":{"labels":{"added":"x"}}}`)
	deadline := time.After(10 * time.Second) // the observation window: controllers act, and every notice is followed
	for waiting := true; waiting; {
		select {
		case <-b.told:
			result = b.status(wanted)
			require.Empty(t, texts(result))
			require.Equal(t, len(wanted.Objects), result.ResourceCounts.DesiredReady)
		case <-deadline:
			waiting = false
		}
	}
	sum, err := b.kube.RbacV1().ClusterRoles().Get(t.Context(), wanted.Hash+"-sum", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, sum.Rules, "the controller has aggregated, or this shows nothing")
	require.Empty(t, texts(b.status(wanted)))
	counts, err := b.plane.Requests()
	require.NoError(t, err)
	t.Logf("differences without effect: %s", counts.Where(count.By(userAgent), func(k count.Key) bool { return k.Verb == "patch" }))
}

// caBundle is a certificate in the form of a caBundle.
func (b *bed) caBundle() string {
	raw, err := json.Marshal(b.plane.CA())
	require.NoError(b.t, err)
	return string(raw[1 : len(raw)-1])
}

// A value that admission writes again at each write is not a change by others, and no correction would help.
func TestWhatAdmissionAlwaysWritesIsNoDrift(t *testing.T) {
	b := newBed(t)
	wanted := b.release("mutated.yaml", b.namespace())
	policy := wanted
	policy.Objects, wanted.Objects = wanted.Objects[:2], wanted.Objects[2:]
	b.install(policy)
	require.Eventually(t, func() bool { // until the policy is in force
		probe := wanted.Objects[0].DeepCopy()
		made, err := b.resource(probe, wanted.Namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return false
		}
		value, _, _ := unstructured.NestedString(made.Object, "data", "image")
		return value == "mirror.example.com/a"
	}, patience, 200*time.Millisecond)
	b.install(wanted)
	require.Empty(t, texts(b.status(wanted)))
	b.change(wanted, "ConfigMap", "mutated", `{"data":{"plain":"changed"}}`)
	require.Eventually(t, func() bool { return len(texts(b.status(wanted))) == 1 }, patience, 10*time.Millisecond)
}

// C04: bundles that are not ready are not read while nothing changes. A controller of the lab may change an object at any
// time, and a look at that object is right then: what counts is a window in which none has changed.
func TestNothingIsReadWhileNothingChanges(t *testing.T) {
	b := newBed(t)
	began, err := b.plane.Requests()
	require.NoError(t, err)
	var bundles []drift.Wanted
	for range 3 {
		wanted := b.release("kinds.yaml", b.namespace())
		b.install(wanted)
		bundles = append(bundles, wanted)
		require.False(t, b.status(wanted).Ready, "without nodes, some workloads never get ready")
	}
	deadline := time.Now().Add(3 * patience)
	for {
		require.True(t, time.Now().Before(deadline), "there was no window in which nothing changed, so this shows nothing")
		calls, nothing := b.callsWhileNothingChanges(bundles)
		if nothing {
			require.Zero(t, calls.Total(), "calls while nothing changed:\n%s", calls)
			break
		}
	}
	after, err := b.plane.Requests()
	require.NoError(t, err)
	watches := after.Sub(began).Where(count.By(userAgent), func(k count.Key) bool { return k.Verb == "watch" && k.Resource == "configmaps" })
	require.Equal(t, 1, watches.Total(), "one watch serves all bundles:\n%s", watches)
}

// rest is how long changes have time to be told: those of a status are told up to 15 seconds late. window is how long calls
// are counted then.
const rest, window = 17 * time.Second, 5 * time.Second

// callsWhileNothingChanges counts the calls that a look at each bundle needs after a window. It is not true where an object
// has changed since the window before.
func (b *bed) callsWhileNothingChanges(bundles []drift.Wanted) (calls count.Counts, nothing bool) {
	b.t.Helper()
	versions := b.versions(bundles)
	b.follow(bundles, rest)
	for _, wanted := range bundles {
		b.status(wanted) // a change of a status is told late, but it is known
	}
	before, err := b.plane.Requests()
	require.NoError(b.t, err)
	time.Sleep(window) // the observation window
	for _, wanted := range bundles {
		b.status(wanted)
	}
	after, err := b.plane.Requests()
	require.NoError(b.t, err)
	calls, now := after.Sub(before).Where(count.By(userAgent)), b.versions(bundles)
	for object, version := range versions {
		if now[object] != version {
			b.t.Logf("changed by others meanwhile: %s", object)
		}
	}
	return calls, assert.ObjectsAreEqual(versions, now)
}

// follow looks at each bundle that is told of, until the time is over.
func (b *bed) follow(bundles []drift.Wanted, how time.Duration) {
	b.t.Helper()
	over := time.After(how)
	for {
		select {
		case name := <-b.told:
			for _, wanted := range bundles {
				if wanted.Hash == name {
					b.status(wanted)
				}
			}
		case <-over:
			return
		}
	}
}

// versions are those of all objects of the bundles.
func (b *bed) versions(bundles []drift.Wanted) map[string]string {
	b.t.Helper()
	found := map[string]string{}
	for _, wanted := range bundles {
		for _, obj := range wanted.Objects {
			live, err := b.resource(obj, wanted.Namespace).Get(b.t.Context(), obj.GetName(), metav1.GetOptions{})
			require.NoError(b.t, err)
			found[live.GetKind()+" "+wanted.Hash+"/"+live.GetName()] = live.GetResourceVersion()
		}
	}
	return found
}
