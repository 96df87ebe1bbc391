package kube

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestASweepHasEverythingLookedAtAgainAndAgain(t *testing.T) {
	const every = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lock sync.Mutex
	lists, looked := 0, map[string]int{}
	list := func(string, labels.Selector) ([]*corev1.Secret, error) {
		lock.Lock()
		defer lock.Unlock()
		lists++
		if lists == 1 {
			return nil, errors.New("no")
		}
		return []*corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}}, nil
	}
	Sweep(ctx, every, list, func(namespace, name string, d time.Duration) {
		lock.Lock()
		defer lock.Unlock()
		looked[namespace+"/"+name]++
		assert.Less(t, d, every)
		assert.GreaterOrEqual(t, d, time.Duration(0))
	})
	require.Eventually(t, func() bool {
		lock.Lock()
		defer lock.Unlock()
		return looked["ns/a"] > 2 && looked["ns/b"] > 2
	}, 20*time.Second, time.Millisecond)
}
