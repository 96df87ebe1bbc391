package delivery_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// noise is text of a size that no compression makes much smaller: base64 of random bytes.
func noise(size int) string {
	random := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, size*3/4)
	_, _ = random.Read(raw) // never fails
	return base64.StdEncoding.EncodeToString(raw)
}

// C01: whatever its size, a bundle is delivered, or it is said that it is too large, and for whom; nothing is tried over and
// over, and other bundles do not notice.
func TestBundlesOfAnySizeAreDeliveredOrRefusedWithAReason(t *testing.T) {
	b := theBed(t)
	for _, size := range []int{900_000, 1_400_000, 1_600_000, 3_200_000, 10_000_000} {
		t.Run(fmt.Sprintf("%.1f MB", float64(size)/1e6), func(t *testing.T) {
			name := fmt.Sprintf("size-%d", size)
			bundle := newBundle(name, fleet.BundleTarget{ClusterName: one}, configMap("cm", "a"), file("notes.txt", noise(size)))
			err := stage.Create(t.Context(), b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle)
			if err != nil {
				require.Greater(t, size, 1_000_000, "%v", err)
				require.Contains(t, strings.ToLower(err.Error()), "too large", "the API server says so to whoever creates it")
				return
			}
			t.Cleanup(func() { b.remove(t, name) })
			seen := b.awaitBundle(t, name, "is ready, or says what is too large", func(bundle *fleet.Bundle) bool {
				return isReady(bundle, 1) || saysTooLarge(bundle)
			})
			t.Log(stage.Conditions(seen.Status.Conditions))
			if !isReady(seen, 1) {
				b.writes(t)
				time.Sleep(window) // the observation window
				writes := b.writes(t)
				require.LessOrEqual(t, writes.Total(), 5, "tried over and over:\n%s", writes)
			}
		})
	}
	small := newBundle("small", fleet.BundleTarget{ClusterName: one}, configMap("cm", "a"))
	b.create(t, small)
	b.awaitReady(t, "small", 1)
	_, err := b.bundle(context.WithoutCancel(t.Context()), "small")
	require.NoError(t, err)
}

// printableNoise is text that a Bundle holds as it is, and of which gzip saves less than base64 adds.
func printableNoise(size int) string {
	random := rand.New(rand.NewChaCha8([32]byte{2}))
	text := make([]byte, 0, size)
	for len(text) < size {
		if c := byte('!' + random.IntN('~'-'!')); !strings.ContainsRune(`"\<>&`, rune(c)) {
			text = append(text, c)
		}
	}
	return string(text)
}

// C01: the API server takes this Bundle, and would not take its Content: that is said, and never tried.
func TestABundleThatFitsWhoseContentDoesNotIsRefusedWithAReason(t *testing.T) {
	b := theBed(t)
	const name = "size-content"
	b.create(t, newBundle(name, fleet.BundleTarget{ClusterName: one}, configMap("cm", "a"), file("notes.txt", printableNoise(1_450_000))))
	seen := b.awaitBundle(t, name, "says that its content is too large", saysTooLarge)
	require.Equal(t, "ContentTooLarge", stage.Condition(seen.Status.Conditions, "Ready").Reason)
	b.writes(t)
	time.Sleep(window) // the observation window
	writes := b.writes(t)
	require.LessOrEqual(t, writes.Total(), 5, "tried over and over:\n%s", writes)
}

func saysTooLarge(bundle *fleet.Bundle) bool {
	ready := stage.Condition(bundle.Status.Conditions, "Ready")
	if ready == nil || ready.Status != "False" {
		return false
	}
	message := strings.ToLower(ready.Message)
	return strings.Contains(message, "too large") || strings.Contains(message, "too long") || strings.Contains(message, "at most")
}
