package content

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

var update = flag.Bool("update", false, "write testdata anew instead of comparing with it")

func sample() []fleet.BundleResource {
	return []fleet.BundleResource{
		{Name: "manifests/b.yaml", Content: "kind: ConfigMap\ndata: {a: \"<&>\"}\n"},
		{Name: "a.bin", Content: "H4sIAAAAAAAA/0pMSgYEAAD//8JBJDUDAAAA", Encoding: EncodingGzip},
		{Content: "kind: Secret\n"},
	}
}

// The stored form is part of the wire: another byte is another name, and deploys everything anew.
func TestStoredFormIsAsTheGoldenFileSays(t *testing.T) {
	m, err := New(sample())
	require.NoError(t, err)
	path := filepath.Join("testdata", "manifest.json")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, m.encoded, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(m.encoded))
	assert.Equal(t, byte('\n'), want[len(want)-1], "the newline at the end is part of it")

	sum := sha256.Sum256(want)
	assert.Equal(t, hex.EncodeToString(sum[:]), m.SHA256())
	assert.Equal(t, "s-"+hex.EncodeToString(sum[:])[:61], m.ID())
}

func TestTheOrderOfResourcesIsPartOfTheID(t *testing.T) {
	m, err := New(sample())
	require.NoError(t, err)
	same, err := New(sample())
	require.NoError(t, err)
	assert.Equal(t, m.ID(), same.ID())

	reversed := sample()
	reversed[0], reversed[1] = reversed[1], reversed[0]
	other, err := New(reversed)
	require.NoError(t, err)
	assert.NotEqual(t, m.ID(), other.ID())
}

// A chart from a repository needs no files.
func TestABundleMayHaveNoResources(t *testing.T) {
	for _, none := range [][]fleet.BundleResource{nil, {}} {
		m, err := New(none)
		require.NoError(t, err)
		files, err := m.Files()
		require.NoError(t, err)
		assert.Empty(t, files)
		c, err := m.Content()
		require.NoError(t, err)
		_, err = Decode(c)
		require.NoError(t, err)
	}
}

func TestUnknownEncodingIsRefusedWithTheResourcesName(t *testing.T) {
	_, err := New([]fleet.BundleResource{{Name: "ok"}, {Name: "bad\x1b", Encoding: "zip"}})
	require.EqualError(t, err, `spec.resources[1] ("bad\x1b"): the encoding "zip" is not known: leave it empty for plain text, or use base64+gz`)
}

func TestAManifestDoesNotChangeWithWhatItWasMadeOf(t *testing.T) {
	resources := sample()
	m, err := New(resources)
	require.NoError(t, err)
	resources[0].Name = "changed"
	assert.Equal(t, sample(), m.Resources())
	m.Resources()[0].Name = "changed"
	assert.Equal(t, sample(), m.Resources())
}
