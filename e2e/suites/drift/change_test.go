package drift_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/drift"
)

// soon is how long it may take until a change by hand is seen, on a busy machine.
const soon = 2 * time.Second

// sees waits until a status says exactly this, and how long that took. Only notices start a status.
func (b *bed) sees(wanted drift.Wanted, want ...string) time.Duration {
	b.t.Helper()
	began := time.Now()
	var got []string
	for {
		select {
		case <-b.told:
			if got = texts(b.status(wanted)); assert.ObjectsAreEqual(want, got) {
				return time.Since(began)
			}
		case <-time.After(patience):
			require.Failf(b.t, "not seen", "%q, but %q", want, got)
		}
	}
}

func TestChangeByHandIsSeenAtOnce(t *testing.T) {
	b := newBed(t)
	wanted := b.release("kinds.yaml", b.namespace())
	b.install(wanted)
	require.Empty(t, texts(b.status(wanted)))
	b.watched(wanted)
	ns := wanted.Namespace
	for _, test := range []struct{ kind, name, patch, seen, undo string }{
		{"ConfigMap", "a", `{"data":{"text":"y"}}`, `configmap.v1 ` + ns + `/a modified {"data":{"text":"x"}}`, `{"data":{"text":"x"}}`},
		{"ConfigMap", "a", `{"data":{"empty":null}}`, `configmap.v1 ` + ns + `/a modified {"data":{"empty":""}}`, `{"data":{"empty":""}}`},
		{"Secret", "a", `{"data":{"password":"eA=="}}`, `secret.v1 ` + ns + `/a modified {"data":{"password":"(hidden)"}}`, `{"data":{"password":"c2VjcmV0"}}`},
		{"Deployment", "a", `{"spec":{"replicas":7}}`, `deployment.apps ` + ns + `/a modified {"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`},
		{"Deployment", "a", `{"metadata":{"labels":{"marked":null}}}`, `deployment.apps ` + ns + `/a modified {"metadata":{"labels":{"marked":""}}}`, `{"metadata":{"labels":{"marked":""}}}`},
		{"ClusterRole", ns + "-part", `{"rules":[]}`, `clusterrole.rbac.authorization.k8s.io ` + ns + `-part modified {"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
			`{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`},
		{"Thing", "a", `{"spec":{"enabled":null}}`, `thing.` + ns + `.example.com ` + ns + `/a modified {"spec":{"enabled":false}}`, `{"spec":{"enabled":false}}`},
		{"Service", "a", `{"spec":{"selector":{"app":"b"}}}`, `service.v1 ` + ns + `/a modified {"spec":{"selector":{"app":"a"}}}`, `{"spec":{"selector":{"app":"a"}}}`},
	} {
		b.change(wanted, test.kind, test.name, test.patch)
		took := b.sees(wanted, test.seen)
		assert.Less(t, took, soon, test.seen)
		t.Logf("%s after %s", test.seen, took)
		b.change(wanted, test.kind, test.name, test.undo)
		assert.Less(t, b.sees(wanted), soon)
	}
}

func TestObjectThatIsDeletedOrGivenAwayIsMissing(t *testing.T) {
	b := newBed(t)
	wanted := b.release("kinds.yaml", b.namespace())
	b.install(wanted)
	require.Empty(t, texts(b.status(wanted)))
	b.watched(wanted)
	ns := wanted.Namespace
	missing := "configmap.v1 " + ns + "/a missing"
	require.NoError(t, b.kube.CoreV1().ConfigMaps(ns).Delete(t.Context(), "a", metav1.DeleteOptions{}))
	assert.Less(t, b.sees(wanted, missing), soon)
	_, err := b.kube.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{drift.HashLabel: "others"}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Less(t, b.sees(wanted, "configmap.v1 "+ns+"/a is not owned by us"), soon)
	b.change(wanted, "ConfigMap", "a", `{"metadata":{"labels":{"`+drift.HashLabel+`":"`+wanted.Hash+`"}},"data":{"text":"x","empty":""},"binaryData":{"raw":"AAECAwQ="}}`)
	assert.Less(t, b.sees(wanted), soon)

	b.change(wanted, "Secret", "a", `{"metadata":{"labels":{"`+drift.HashLabel+`":null}}}`)
	assert.Less(t, b.sees(wanted, "secret.v1 "+ns+"/a is not owned by us"), soon)
	require.True(t, b.status(wanted).Unwatched)
}

func TestChangeWhileTheServerIsAwayIsSeenAfterwards(t *testing.T) {
	b := newBed(t)
	wanted := b.release("kinds.yaml", b.namespace())
	b.install(wanted)
	require.Empty(t, texts(b.status(wanted)))
	b.watched(wanted)
	require.NoError(t, b.plane.StopAPIServer(t.Context()))
	require.NoError(t, b.plane.StartAPIServer(t.Context()))
	b.change(wanted, "ConfigMap", "a", `{"data":{"text":"y"}}`)
	b.sees(wanted, `configmap.v1 `+wanted.Namespace+`/a modified {"data":{"text":"x"}}`)
}

// watched waits until the watches have begun: a change of a kind that comes last is told.
func (b *bed) watched(wanted drift.Wanted) {
	b.t.Helper()
	for _, one := range [][2]string{{"Secret", "a"}, {"ConfigMap", "a"}, {"Service", "a"}, {"Deployment", "a"}, {"Thing", "a"}, {"ClusterRole", wanted.Hash + "-part"}} {
		b.change(wanted, one[0], one[1], `{"metadata":{"annotations":{"touched":"`+time.Now().String()+`"}}}`)
		select {
		case <-b.told:
			b.status(wanted)
		case <-time.After(patience):
			require.Failf(b.t, "no notice", "%s %s", one[0], one[1])
		}
	}
}
