package content

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func stored(t *testing.T) *fleet.Content {
	t.Helper()
	m, err := New(sample())
	require.NoError(t, err)
	c, err := m.Content()
	require.NoError(t, err)
	return c
}

func TestAContentHoldsTheManifest(t *testing.T) {
	c := stored(t)
	m, err := Decode(c)
	require.NoError(t, err)
	assert.Equal(t, sample(), m.Resources())
	assert.Equal(t, c.Name, m.ID())
	assert.Equal(t, c.SHA256Sum, m.SHA256())
	assert.Len(t, c.Name, 63)

	again := stored(t)
	assert.Equal(t, c, again, "the same resources make the same object")
}

func TestOtherCompressionAndNoDigestAreRead(t *testing.T) {
	c := stored(t)
	m, err := Decode(c)
	require.NoError(t, err)
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	require.NoError(t, err)
	_, err = writer.Write(m.encoded)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	_, err = Decode(&fleet.Content{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Content: packed.Bytes()})
	require.NoError(t, err)
}

// B18: what is missing, empty or damaged is never taken for an empty bundle.
func TestADamagedContentIsAnError(t *testing.T) {
	squeeze := func(text string) []byte {
		packed, err := pack([]byte(text))
		require.NoError(t, err)
		return packed
	}
	for name, test := range map[string]struct {
		change func(c *fleet.Content)
		want   string
	}{
		"empty":         {func(c *fleet.Content) { c.Content = nil }, "is empty"},
		"not gzip":      {func(c *fleet.Content) { c.Content = []byte("{}") }, "unpacking the content"},
		"cut":           {func(c *fleet.Content) { c.Content = c.Content[:len(c.Content)-9] }, "unexpected EOF"},
		"no JSON":       {func(c *fleet.Content) { c.Content = squeeze("x") }, "not the JSON of a bundle's resources"},
		"null":          {func(c *fleet.Content) { c.Content = squeeze("null") }, "the manifest is empty"},
		"nothing":       {func(c *fleet.Content) { c.Content = squeeze("") }, "not the JSON"},
		"other":         {func(c *fleet.Content) { c.Content = squeeze(`{"resources":[]}`) }, "its sha256sum does not match"},
		"other digest":  {func(c *fleet.Content) { c.SHA256Sum = strings.Repeat("0", 64) }, "its sha256sum does not match"},
		"other, no sum": {func(c *fleet.Content) { c.Content, c.SHA256Sum = squeeze(`{"resources":[]}`), "" }, "belongs to s-"},
		"other name":    {func(c *fleet.Content) { c.Name = "s-other" }, "belongs to s-"},
	} {
		t.Run(name, func(t *testing.T) {
			c := stored(t)
			test.change(c)
			_, err := Decode(c)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, c.Name)
		})
	}
}

func TestABombIsNotUnpacked(t *testing.T) {
	packed, err := pack(bytes.Repeat([]byte(" "), 4*MaxUnpacked))
	require.NoError(t, err)
	require.Less(t, len(packed), 1<<20)
	_, err = Decode(&fleet.Content{ObjectMeta: metav1.ObjectMeta{Name: "s-bomb"}, Content: packed})
	var tooLarge *TooLargeError
	require.ErrorAs(t, err, &tooLarge)
	assert.Equal(t, MaxUnpacked, tooLarge.Limit)

	_, err = Parse(make([]byte, MaxUnpacked+1))
	require.ErrorAs(t, err, &tooLarge)
}

// random is a resource of that many bytes that cannot be compressed.
func random(size int) fleet.BundleResource {
	data := make([]byte, size)
	rand.New(rand.NewSource(1)).Read(data)
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(data)
	_ = writer.Close()
	return fleet.BundleResource{Name: "random", Content: base64.StdEncoding.EncodeToString(packed.Bytes()), Encoding: EncodingGzip}
}

// C01: what no API server takes is known before it is written.
func TestWhatIsTooLargeIsKnownBeforeItIsWritten(t *testing.T) {
	for size, fits := range map[int]bool{900_000: true, 1_100_000: true, 1_400_000: false, 3_200_000: false, 10_000_000: false} {
		m, err := New([]fleet.BundleResource{random(size)})
		require.NoError(t, err)
		c, err := m.Content()
		if fits {
			require.NoError(t, err)
			encoded, err := json.Marshal(c)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(encoded), MaxObject)
			_, err = Decode(c)
			require.NoError(t, err)
			continue
		}
		var tooLarge *TooLargeError
		require.ErrorAs(t, err, &tooLarge, size)
		assert.Equal(t, MaxObject, tooLarge.Limit)
		assert.Greater(t, tooLarge.Size, size)
		assert.ErrorContains(t, err, "split the bundle")
	}
}
