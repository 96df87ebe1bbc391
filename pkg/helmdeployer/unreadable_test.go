package helmdeployer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/helmdeployer/history"
)

// notesFor is the beginning of a record that calls itself a bundle's, as somebody writes it who may write Secrets.
func notesFor(bundle string) string {
	return `{"name":"x","info":{},"version":1,"chart":{"metadata":{"annotations":{"` + bundleIDAnnotation + `":"` + bundle + `","` +
		agentNamespaceAnnotation + `":"` + agentNamespace + `"}}}`
}

// rawRecord puts a record as it is into namespace attackers.
func (w *world) rawRecord(record []byte) {
	w.t.Helper()
	w.put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "attackers", Name: history.Key("x", 1), Labels: map[string]string{
			history.OwnerLabel: history.Owner, history.NameLabel: "x", history.VersionLabel: "1", history.StatusLabel: "deployed"}},
		Type: history.SecretType, Data: map[string][]byte{"release": record},
	})
}

// One Secret in any namespace must not end the agent: a hook that is null is no hook.
func TestARecordWithAHookThatIsNullIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.rawRecord([]byte(base64.StdEncoding.EncodeToString([]byte(notesFor("evil") + `,"hooks":[null]}`))))
	require.ErrorIs(t, w.deployer().Uninstall(t.Context(), "evil"), ErrUnproven)
}

func TestABundleIsDeployedThoughARecordElsewhereHasAHookThatIsNull(t *testing.T) {
	w := newWorld(t)
	w.rawRecord([]byte(base64.StdEncoding.EncodeToString([]byte(notesFor("app") + `,"hooks":[null]}`))))
	_, err := w.deployer().Deploy(t.Context(), raw("app", configMap("a", "one")))
	require.NoError(t, err)
}

// FuzzDigest: what is compared of a record is anybody's work.
func FuzzDigest(f *testing.F) {
	f.Add([]byte(notesFor("app") + `,"hooks":[{"name":"h","events":["pre-install"]}]}`))
	f.Add([]byte(`{"name":"x","info":{},"chart":null,"hooks":[null]}`))
	f.Add([]byte(`{"name":"x","info":{},"chart":{"metadata":null}}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		var found release.Release
		if json.Unmarshal(record, &found) != nil {
			return
		}
		first := digest(&found)
		if again := digest(&found); again != first {
			t.Fatal("one record has two digests")
		}
		_ = notesOf(&found)
	})
}

// What a record costs is bounded by more than its size: one of ten kilobytes, in any namespace, took gigabytes.
func TestASmallForgedRecordCostsLittleMemory(t *testing.T) {
	for name, hooks := range map[string]int{"more than are read": 2 << 20, "as many as are read": 9_000} {
		t.Run(name, func(t *testing.T) {
			var packed bytes.Buffer
			writer := gzip.NewWriter(&packed)
			_, err := writer.Write([]byte(notesFor("evil") + `,"hooks":[` + strings.Repeat("{},", hooks) + `{}]}`))
			require.NoError(t, err)
			require.NoError(t, writer.Close())
			w := newWorld(t)
			w.rawRecord([]byte(base64.StdEncoding.EncodeToString(packed.Bytes())))
			d := w.deployer()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := d.Uninstall(t.Context(), "evil"); err != nil {
				require.ErrorIs(t, err, ErrUnproven)
			}
			runtime.ReadMemStats(&after)
			assert.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(100), "MiB")
			assert.Equal(t, []string{"1 deployed"}, w.states("attackers", "x"))
		})
	}
}

// What is remembered of records lasts, and there may be many: a name that no bundle can have is not.
func TestARecordOfABundleWithAnEndlessNameIsNobodys(t *testing.T) {
	w := newWorld(t)
	d := w.deployer()
	w.record("attackers", "x", map[string]string{
		bundleIDAnnotation: "evil", agentNamespaceAnnotation: agentNamespace, originAnnotation: strings.Repeat("x", maxNote+1),
	})
	w.record("attackers", "y", map[string]string{
		bundleIDAnnotation: "evil", agentNamespaceAnnotation: agentNamespace, originAnnotation: strings.Repeat("x", maxNote),
	})
	found, err := d.List(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "y", found[0].Name)
}
