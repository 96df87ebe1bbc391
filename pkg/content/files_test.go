package content

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func files(resources ...fleet.BundleResource) ([]File, error) {
	m, err := New(resources)
	if err != nil {
		return nil, err
	}
	return m.Files()
}

func TestFilesAreDecodedInOrder(t *testing.T) {
	got, err := files(sample()...)
	require.NoError(t, err)
	assert.Equal(t, []File{
		{Name: "manifests/b.yaml", Data: []byte("kind: ConfigMap\ndata: {a: \"<&>\"}\n")},
		{Name: "a.bin", Data: []byte("abc")},
		{Name: "resource-002.yaml", Data: []byte("kind: Secret\n")},
	}, got)
}

func TestPathsAreMadeSimple(t *testing.T) {
	got, err := files(fleet.BundleResource{Name: "./a//b/./c.yaml"})
	require.NoError(t, err)
	assert.Equal(t, "a/b/c.yaml", got[0].Name)
}

func TestPathsCannotLeaveTheBundle(t *testing.T) {
	for name, want := range map[string]string{
		"/etc/passwd":             "must be relative",
		"../x":                    "must not leave the bundle",
		"a/../../x":               "must not leave the bundle",
		"a/..":                    "names no file",
		"a/../b":                  "must not leave the bundle",
		`..\x`:                    "backslash",
		".":                       "names no file",
		"a\x00b":                  "cannot be printed",
		"a\nb":                    "cannot be printed",
		strings.Repeat("a/", 600): "longer than 1024 bytes",
	} {
		_, err := files(fleet.BundleResource{Name: name})
		require.ErrorContains(t, err, want, "%q", name)
		require.ErrorContains(t, err, "resource 0 (", "%q", name)
		assert.Less(t, len(err.Error()), 300)
	}
	for _, name := range []string{"..a/b..yaml", "...", ".hidden", "ü/é.yaml", "a:b", "a b"} {
		require.NoError(t, CheckName(name))
	}
}

func TestTwoFilesOfOneNameMustBeEqual(t *testing.T) {
	got, err := files(fleet.BundleResource{Name: "a", Content: "x"}, fleet.BundleResource{Name: "./a", Content: "x"})
	require.NoError(t, err)
	assert.Len(t, got, 1)
	_, err = files(fleet.BundleResource{Name: "a", Content: "x"}, fleet.BundleResource{Name: "a", Content: "y"})
	require.EqualError(t, err, `the bundle has two different resources with the name "a": rename one`)
}

func TestFilesAreBounded(t *testing.T) {
	packed, err := pack(make([]byte, MaxFileBytes/2+1))
	require.NoError(t, err)
	bomb := fleet.BundleResource{Name: "a", Content: base64.StdEncoding.EncodeToString(packed), Encoding: EncodingGzip}
	other := bomb
	other.Name = "b"
	_, err = files(bomb)
	require.NoError(t, err)
	_, err = files(bomb, other)
	var tooLarge *TooLargeError
	require.ErrorAs(t, err, &tooLarge)
	assert.Greater(t, tooLarge.Size, MaxFileBytes)
	assert.Equal(t, MaxFileBytes, tooLarge.Limit)

	_, err = files(bomb, fleet.BundleResource{Name: "b", Content: strings.Repeat(" ", MaxFileBytes/2)})
	require.ErrorAs(t, err, &tooLarge)

	_, err = files(make([]fleet.BundleResource, MaxFiles+1)...)
	require.EqualError(t, err, "the bundle has 20001 resources, of at most 20000")
}

func TestBrokenDataIsAnError(t *testing.T) {
	for content, want := range map[string]string{
		"!!!":          "decoding base64",
		"aGVsbG8=":     "gzip",
		"H4sIAAAAAAAA": "EOF",
		"":             "EOF",
	} {
		_, err := files(fleet.BundleResource{Name: "x.gz", Content: content, Encoding: EncodingGzip})
		require.ErrorContains(t, err, want, content)
		require.ErrorContains(t, err, `resource 0 ("x.gz")`)
	}
}

// FuzzDecode: an agent reads what the hub, or whoever took its place, says.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", `{"resources":null}`, `{"resources":[{}]}`, `{"resources":[{"name":"../x"}]}`,
		`{"resources":[{"name":"a","content":"x"},{"name":"a","content":"y"}]}`,
		`{"resources":[{"name":"a","content":"H4sIAAAAAAAA/0pMSgYEAAD//8JBJDUDAAAA","encoding":"base64+gz"}]}`,
		`{"resources":[{"name":"a","content":"` + strings.Repeat("A", 100) + `","encoding":"base64+gz"}]}`,
	} {
		f.Add([]byte(seed), false)
	}
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, true)
	f.Fuzz(func(t *testing.T, data []byte, raw bool) {
		packed := data
		if !raw {
			var err error
			packed, err = pack(data)
			require.NoError(t, err)
		}
		c := &fleet.Content{ObjectMeta: metav1.ObjectMeta{Name: "s-x"}, Content: packed}
		if m, err := Decode(c); err == nil {
			t.Fatalf("a content of another name was accepted: %s", m.ID())
		}
		m, err := Parse(data)
		if err != nil {
			return
		}
		c.Name = m.ID()
		if !raw {
			decoded, err := Decode(c)
			require.NoError(t, err)
			require.Equal(t, m.Resources(), decoded.Resources())
		}
		files, err := m.Files()
		if err != nil {
			require.Less(t, len(err.Error()), 1000)
			return
		}
		for _, file := range files {
			require.NoError(t, CheckName(file.Name))
			require.False(t, bytes.Contains([]byte(file.Name), []byte("..")) && strings.HasPrefix(file.Name, ".."+"/"))
		}
	})
}
