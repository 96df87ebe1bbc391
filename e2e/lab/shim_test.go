package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/shim"
)

func TestClientsWorkThroughTheShim(t *testing.T) {
	ctx, c := t.Context(), hub(t)
	newNamespace(t, clientOf(t, c), "shim")
	s := shim.Run(t, c.URL, c.CA())
	token, err := c.AdminToken()
	require.NoError(t, err)
	client := as(t, Kubeconfig{Name: "shim", Server: s.URL(), CA: s.CA(), Token: token})
	maps := client.CoreV1().ConfigMaps("shim")

	watcher, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=one"})
	require.NoError(t, err)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	select {
	case event := <-watcher.ResultChan():
		require.Equal(t, watch.Added, event.Type)
	case <-time.After(patience):
		t.Fatal("no event came through the shim")
	}
	s.Cut()
	select {
	case _, open := <-watcher.ResultChan():
		require.False(t, open)
	case <-time.After(patience):
		t.Fatal("the watch outlives the cut")
	}
	require.Equal(t, 1, s.Counts().Writes().Total(), "%s", s.Counts())
	require.Equal(t, 1, s.Counts().Where(count.Verb("watch"), count.On("", "configmaps")).Total())

	s.FaultNth(1, shim.Answer(409), shim.Writes)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "two"}}, metav1.CreateOptions{})
	require.True(t, apierrors.IsConflict(err), "%v", err)

	// The answer is lost, the object is there: what every client has to be able to cope with.
	s.FaultNth(1, shim.DropAnswer, shim.Writes)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "two"}}, metav1.CreateOptions{})
	require.Error(t, err)
	_, err = maps.Get(ctx, "two", metav1.GetOptions{})
	require.NoError(t, err)
}
