package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestConfigMapsOfANamespaceAreFollowedFromTheFirstQuestionOn(t *testing.T) {
	ctx := t.Context()
	clients := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "settings"}, Data: map[string]string{"k": "1"}})
	maps := NewConfigMaps(ctx, clients)
	told := make(chan string, 10)
	maps.OnChange(ctx, func(namespace, name string) { told <- namespace + "/" + name })
	have, err := maps.Get("ws", "settings")
	require.NoError(t, err)
	assert.Equal(t, "1", have.Data["k"])
	assert.Equal(t, "ws/settings", <-told)

	_, err = maps.Get("ws", "missing")
	assert.True(t, apierrors.IsNotFound(err))

	_, err = clients.CoreV1().ConfigMaps("ws").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "missing"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	select {
	case name := <-told:
		assert.Equal(t, "ws/missing", name)
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told of the new ConfigMap")
	}
	_, err = maps.Get("ws", "missing")
	assert.NoError(t, err)
}

func TestACachedContentIsWithoutWhatItHolds(t *testing.T) {
	slim, err := slimmed(&fleet.Content{Content: []byte("megabytes"), SHA256Sum: "x"})
	require.NoError(t, err)
	assert.Equal(t, &fleet.Content{SHA256Sum: "x"}, slim)
}
