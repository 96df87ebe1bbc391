package history

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// fromHelm4 is what a Helm 4 agent writes: fields that Helm 3 does not know, and times that are left out.
const fromHelm4 = `{"name":"app","info":{"first_deployed":"2026-01-02T03:04:05.678Z","last_deployed":"2026-01-02T03:04:05.678Z",
"description":"Install complete","status":"deployed","rollback_revision":0},"chart":{"metadata":{"name":"c","version":"1.0.0","apiVersion":"v2",
"annotations":{"fleet.cattle.io/bundle-id":"app"}},"lock":null,"templates":[{"name":"templates/a.yaml","modtime":"2026-01-02T03:04:05Z","data":"eA=="}],
"values":{},"schema":null,"schemamodtime":"2026-01-02T03:04:05Z","files":[],"modtime":"0001-01-01T00:00:00Z"},"config":{"a":1},
"manifest":"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n","hooks":[{"name":"h","kind":"Job","path":"p","manifest":"x",
"events":["pre-install"],"last_run":{"started_at":"","completed_at":"","phase":""},"delete_policies":null}],"version":3,"namespace":"apps",
"labels":null,"apply_method":"ssa"}`

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, err := writer.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
}

func TestRecordsOfOtherVersionsAreRead(t *testing.T) {
	for name, record := range map[string][]byte{
		"Helm 4":         packed(t, fromHelm4),
		"not compressed": []byte(base64.StdEncoding.EncodeToString([]byte(fromHelm4))),
		"written by us": func() []byte {
			read, _, err := decodeRelease(packed(t, fromHelm4))
			require.NoError(t, err)
			again, err := encode(read)
			require.NoError(t, err)
			return again
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			read, _, err := decodeRelease(record)
			require.NoError(t, err)
			assert.Equal(t, "app", read.Name)
			assert.Equal(t, 3, read.Version)
			assert.Equal(t, release.StatusDeployed, read.Info.Status)
			assert.Equal(t, "app", read.Chart.Metadata.Annotations["fleet.cattle.io/bundle-id"])
			assert.Contains(t, read.Manifest, "ConfigMap")
			assert.Equal(t, []release.HookEvent{release.HookPreInstall}, read.Hooks[0].Events)
		})
	}
}

func TestOnlyWhatIsNeededOfAChartIsRecorded(t *testing.T) {
	full := &release.Release{Name: "app", Info: &release.Info{}, Chart: &chart.Chart{
		Metadata: &chart.Metadata{Name: "c"}, Values: map[string]any{"a": "b"},
		Templates: []*chart.File{{Name: "t", Data: []byte("template")}}, Files: []*chart.File{{Name: "f", Data: []byte("file")}},
	}}
	record, err := encode(full)
	require.NoError(t, err)
	read, _, err := decodeRelease(record)
	require.NoError(t, err)
	assert.Empty(t, read.Chart.Templates)
	assert.Empty(t, read.Chart.Files)
	assert.Equal(t, map[string]any{"a": "b"}, read.Chart.Values)
	assert.Len(t, full.Chart.Templates, 1, "what is deployed still has them")
}

func TestAReleaseThatIsTooLargeIsRefused(t *testing.T) {
	var text strings.Builder
	for i := range 400_000 {
		text.WriteString(string(rune('a'+i*7919%26)) + string(rune('a'+i*i%26)) + string(rune(0x4e00+i*104729%20000)))
	}
	_, err := encode(&release.Release{Name: "app", Info: &release.Info{}, Manifest: text.String()})
	var large *TooLargeError
	require.ErrorAs(t, err, &large)
	assert.Greater(t, large.Size, large.Limit)
}

func TestReleaseIDs(t *testing.T) {
	id, err := ParseID("apps/my.app:12")
	require.NoError(t, err)
	assert.Equal(t, ID{Namespace: "apps", Name: "my.app", Revision: 12}, id)
	assert.Equal(t, "apps/my.app:12", id.String())
	assert.Equal(t, "sh.helm.release.v1.my.app.v12", id.Key())
	for _, bad := range []string{"", "app:1", "apps/app", "apps/app:0", "apps/app:-1", "apps/app:x", "../x:1", "a/b/c:1", "apps/app:1:2", "Apps/app:1"} {
		_, err := ParseID(bad)
		require.Error(t, err, "%q", bad)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(base64.StdEncoding.EncodeToString([]byte(fromHelm4))))
	f.Add([]byte("H4sI"))
	f.Add([]byte("e30="))
	f.Add([]byte(base64.StdEncoding.EncodeToString([]byte(`{"name":"app","info":{},"hooks":[null]}`))))
	f.Fuzz(func(t *testing.T, record []byte) {
		read, _, err := decodeRelease(record)
		if err == nil && (read.Name == "" || read.Info == nil) {
			t.Fatal("a release without a name or a state was taken")
		}
		if err == nil && slices.Contains(read.Hooks, nil) {
			t.Fatal("a release with a hook that is null was taken")
		}
	})
}

func FuzzParseID(f *testing.F) {
	f.Add("apps/app:1")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err != nil {
			return
		}
		again, err := ParseID(id.String())
		if err != nil || again != id {
			t.Fatalf("%q is read as %v, and that as %v: %v", text, id, again, err)
		}
	})
}
