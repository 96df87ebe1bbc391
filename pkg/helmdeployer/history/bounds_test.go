package history

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// ofSize is a record that becomes that large, and a little, when it is unpacked.
func ofSize(t *testing.T, size int) []byte {
	t.Helper()
	data, err := json.Marshal(&release.Release{Name: "app", Info: &release.Info{}, Manifest: strings.Repeat("#", size)})
	require.NoError(t, err)
	return packed(t, string(data))
}

// A record is small, and may be made to become large: it is not unpacked then, whatever it says of itself.
func TestARecordThatBecomesTooLargeIsRefused(t *testing.T) {
	bomb := ofSize(t, maxUnpacked)
	require.Less(t, len(bomb), maxRecord)
	_, _, err := decodeRelease(bomb)
	require.ErrorContains(t, err, fmt.Sprintf("it is larger than %d bytes", maxUnpacked))

	plain, err := base64.StdEncoding.DecodeString(string(bomb))
	require.NoError(t, err)
	binary.LittleEndian.PutUint32(plain[len(plain)-4:], 1000)
	_, _, err = decodeRelease([]byte(base64.StdEncoding.EncodeToString(plain)))
	require.ErrorContains(t, err, "it is larger than the 1000 bytes that it says")

	_, _, err = decodeRelease([]byte(base64.StdEncoding.EncodeToString(plain[:10])))
	require.ErrorContains(t, err, "it is cut off")
}

func TestRecordsOfOneReleaseAreBoundedTogether(t *testing.T) {
	client := fake.NewClientset()
	record := ofSize(t, maxUnpacked/2)
	for revision := range 5 {
		_, err := client.CoreV1().Secrets("apps").Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: Key("app", revision+1), Namespace: "apps", Labels: map[string]string{OwnerLabel: Owner, NameLabel: "app"}},
			Type:       SecretType, Data: map[string][]byte{dataKey: record},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	_, err := Open(t.Context(), client.CoreV1().Secrets("apps"), "app", time.Now)
	require.ErrorContains(t, err, fmt.Sprintf("the records of release app are larger than %d bytes together", maxHistory))
	for _, revision := range []int{4, 5} {
		require.NoError(t, client.CoreV1().Secrets("apps").Delete(t.Context(), Key("app", revision), metav1.DeleteOptions{}))
	}
	read, err := Open(t.Context(), client.CoreV1().Secrets("apps"), "app", time.Now)
	require.NoError(t, err)
	assert.Len(t, read.byKey, 3)
}

// However many records are read at once, what they take together is bounded: the next waits until one is read.
func TestWhatIsUnpackedAtOnceIsBounded(t *testing.T) {
	record := ofSize(t, maxUnpacked/2)
	require.NoError(t, unpacking.Acquire(t.Context(), maxHistory-1000))
	done := make(chan error, 2)
	go func() { _, _, err := decodeRelease(record); done <- err }()
	select {
	case <-done:
		t.Fatal("there was no room")
	case <-time.After(100 * time.Millisecond): // the window in which it would
	}
	unpacking.Release(maxHistory - 1000)
	require.NoError(t, <-done)
	assert.True(t, unpacking.TryAcquire(maxHistory), "all of it is given back")
	unpacking.Release(maxHistory)
}

// Values take many times their size in memory: a small record with millions of them is not decoded.
func TestARecordOfManyValuesIsRefused(t *testing.T) {
	for name, inside := range map[string]string{
		"hooks":            `"hooks":[` + strings.Repeat(`{},`, 1<<20) + `{}]`,
		"values of lists":  `"config":{"a":[` + strings.Repeat(`[],`, 1<<20) + `[]]}`,
		"nested lists":     `"config":{"a":` + strings.Repeat(`[`, 1<<20) + strings.Repeat(`]`, 1<<20) + `}`,
		"a few hooks less": `"hooks":[` + strings.Repeat(`{},`, maxHooks) + `{}]`,
	} {
		record := packed(t, `{"name":"app","info":{},`+inside+`}`)
		require.Less(t, len(record), maxRecord/8)
		_, _, err := decodeRelease(record)
		var many *TooManyError
		require.ErrorAs(t, err, &many, name)
		assert.Greater(t, many.Count, many.Limit, name)
	}
	read, _, err := decodeRelease(packed(t, `{"name":"app","info":{},"manifest":"`+strings.Repeat(`{[,\"`, maxValues)+`","hooks":[{},{}]}`))
	require.NoError(t, err, "what is in texts does not count")
	assert.Len(t, read.Hooks, 2)
}

// What could not be read again is not written.
func TestAReleaseOfTooManyValuesIsNotRecorded(t *testing.T) {
	list := make([]any, maxValues+1)
	for name, r := range map[string]*release.Release{
		"values": {Name: "app", Info: &release.Info{}, Config: map[string]any{"a": list}},
		"hooks":  {Name: "app", Info: &release.Info{}, Hooks: make([]*release.Hook, maxHooks+1)},
	} {
		_, err := encode(r)
		var many *TooManyError
		require.ErrorAs(t, err, &many, name)
		assert.Equal(t, name, many.What)
	}
	_, err := encode(&release.Release{Name: "app", Info: &release.Info{}, Manifest: strings.Repeat("#", maxUnpacked)})
	var large *TooLargeError
	require.ErrorAs(t, err, &large)
	assert.Equal(t, maxUnpacked, large.Limit)
}
