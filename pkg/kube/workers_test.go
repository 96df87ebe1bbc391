package kube

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/kube/kubetest"
)

func TestAKindHasTheWorkersThatItWasGiven(t *testing.T) {
	for name, test := range map[string]struct {
		workers map[schema.GroupVersionKind]int
		most    int32
	}{
		"its own number":           {map[schema.GroupVersionKind]int{corev1.SchemeGroupVersion.WithKind("Secret"): 1}, 1},
		"the default":              {nil, 3},
		"that of another kind":     {map[schema.GroupVersionKind]int{corev1.SchemeGroupVersion.WithKind("ConfigMap"): 1}, 3},
		"more than the default is": {map[schema.GroupVersionKind]int{corev1.SchemeGroupVersion.WithKind("Secret"): 5}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			server := kubetest.New(t)
			for _, s := range []string{"a", "b", "c", "d", "e", "f", "g"} {
				server.Put(secret("ns", s))
			}
			hub, err := NewHub(context.Background(), server.Config(), HubOptions{SystemNamespace: systemNamespace, Workers: 3, KindWorkers: test.workers})
			require.NoError(t, err)
			var at, most atomic.Int32
			busy, release := make(chan struct{}, 100), make(chan struct{})
			hub.Core.Secret().OnChange(testContext(t), "test", func(_ string, s *corev1.Secret) (*corev1.Secret, error) {
				now := at.Add(1)
				defer at.Add(-1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				busy <- struct{}{}
				<-release
				return s, nil
			})
			start(t, hub)
			for range test.most {
				receive(t, busy, "a worker")
			}
			close(release)
			for range 7 - test.most {
				receive(t, busy, "the next object")
			}
			assert.Equal(t, test.most, most.Load())
		})
	}
}
