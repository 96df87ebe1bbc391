package bundle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// largestStatus is what no status may exceed, in bytes of JSON.
const largestStatus = 256 << 10

// Hundreds of failing resources on each of many clusters, in the words of agents that mean harm, make no large status.
func TestTheStatusOfABundleStaysSmallHoweverManyClustersFail(t *testing.T) {
	w := newWorld(t)
	const clusters, resources = 500, 200
	text := strings.Repeat("<\x01", 2_000)
	var failing []fleet.NonReadyStatus
	var modified []fleet.ModifiedStatus
	for i := range resources {
		n := fleet.NonReadyStatus{Kind: "Deployment", Namespace: "ns", Name: fmt.Sprint(i)}
		n.Summary.State, n.Summary.Message = text, []string{text, text}
		failing = append(failing, n)
		modified = append(modified, fleet.ModifiedStatus{Kind: "ConfigMap", Name: fmt.Sprint(i), Patch: text})
	}
	for i := range clusters {
		w.addCluster(fmt.Sprintf("c%03d", i), prod)
	}
	w.bundles.Add(newBundle())
	for w.deployments.Len() < clusters {
		before := w.deployments.Len()
		w.mustLook()
		require.Greater(t, w.deployments.Len(), before)
	}
	for i := range clusters {
		bd := w.deployment(fmt.Sprintf("c%03d", i)).DeepCopy()
		bd.Status.AppliedDeploymentID, bd.Status.Ready = bd.Spec.DeploymentID, i%3 == 0
		if i%3 == 1 {
			bd.Status.AppliedDeploymentID = ""
			bd.Status.Conditions = []genericcondition.GenericCondition{{Type: fleet.BundleDeploymentConditionDeployed, Status: corev1.ConditionFalse, Message: text}}
		}
		bd.Status.NonReadyStatus, bd.Status.ModifiedStatus = failing, modified
		w.deployments.Add(bd)
	}
	w.clock.SetTime(now.Add(statusPause))
	w.mustLook()

	status := w.status()
	encoded, err := json.Marshal(status)
	require.NoError(t, err)
	assert.Less(t, len(encoded), largestStatus)
	assert.Equal(t, clusters, status.Summary.DesiredReady)
	assert.Equal(t, 167, status.Summary.ErrApplied)
	assert.NotEmpty(t, status.PartitionStatus)
	assert.Contains(t, w.readyMessage(), "ErrApplied(167) [Cluster ws/c001")
}

// C01: there are bundles that the API server takes and whose Content it would not: what base64 and gzip save of most text
// they do not of this. That is said once, before anything is sent, and no event of its own has it tried again.
func TestABundleThatFitsWhoseContentDoesNotIsRefusedBeforeAnyWrite(t *testing.T) {
	const request = 3 << 19 // what etcd takes
	random := rand.New(rand.NewChaCha8([32]byte{1}))
	var text strings.Builder
	for text.Len() < 1_450_000 {
		if c := byte('!' + random.IntN('~'-'!')); !strings.ContainsRune(`"\<>&`, rune(c)) {
			text.WriteByte(c)
		}
	}
	w := newWorld(t)
	w.addCluster("a", prod)
	big := newBundle(func(b *fleet.Bundle) {
		b.Spec.Resources = append(b.Spec.Resources, fleet.BundleResource{Name: "notes.txt", Content: text.String()})
	})
	encoded, err := json.Marshal(big)
	require.NoError(t, err)
	require.Less(t, len(encoded), request-4<<10, "an API server takes it")
	w.bundles.Add(big)

	w.mustLook()
	assert.Contains(t, w.readyMessage(), "False ContentTooLarge")
	assert.Contains(t, w.readyMessage(), "split the bundle")
	assert.Equal(t, []string{"updateStatus bundle ws/app"}, w.takeCalls())
	w.bundles.Sync()
	for range 5 {
		w.mustLook()
	}
	assert.Empty(t, w.takeCalls())
	assert.False(t, w.woken())

	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 2 }))
	w.mustLook()
	assert.NotNil(t, w.deployment("a"), "it is mended by a smaller one")
}
