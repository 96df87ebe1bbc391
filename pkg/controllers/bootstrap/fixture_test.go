package bootstrap

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/desired"
	"github.com/rancher/fleet/pkg/names"
)

const workspace = "fleet-local"

var hub = names.NamespacesOf(names.DefaultSystemNamespace)

// world is a hub in memory with this controller. What is not cached is in the clientset.
type world struct {
	*handler
	namespaces *controllertest.ClusterController[*corev1.Namespace, *corev1.NamespaceList]
	secrets    *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	events     *record.FakeRecorder
	applied    []runtime.Object
	sets       int
}

func (w *world) Apply(_ context.Context, _ desired.Owner, objs ...runtime.Object) error {
	w.applied = objs
	w.sets++
	return nil
}

func newWorld(t *testing.T, document string, uncached ...runtime.Object) *world {
	t.Helper()
	w := &world{
		namespaces: controllertest.NewCluster[*corev1.Namespace, *corev1.NamespaceList]("", "namespaces"),
		secrets:    controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		events:     record.NewFakeRecorder(10),
	}
	w.handler = &handler{
		Deps: Deps{
			Namespaces: w.namespaces, Secrets: w.secrets, Events: w.events, Names: hub,
			Clients: fake.NewClientset(uncached...),
			Config:  config.NewSource("dev"),
			Hub:     &rest.Config{Host: "https://10.0.0.1:443", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("CA")}},
		},
		ctx:  t.Context(),
		set:  w,
		read: func(string) ([]byte, error) { t.Fatal("no file was expected to be read"); return nil, nil },
	}
	w.configure(t, document)
	return w
}

func (w *world) configure(t *testing.T, document string) {
	t.Helper()
	_, err := w.Config.Load(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.VersionAnnotation: "dev"}},
		Data:       map[string]string{names.ConfigKey: document},
	})
	require.NoError(t, err)
}

func (w *world) pass() error {
	secret, err := w.secrets.Cache().Get(hub.System, names.BootstrapTokenSecret)
	if err != nil {
		secret = nil
	}
	_, err = w.onChange(hub.System+"/"+names.BootstrapTokenSecret, secret)
	return err
}

func account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: names.BootstrapAccount, Namespace: hub.System}}
}

func tokenSecret(token string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.BootstrapTokenSecret, Namespace: hub.System,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: names.BootstrapAccount},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if token != "" {
		secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(token)}
	}
	return secret
}

func (w *world) kubeconfig() *corev1.Secret {
	return w.secrets.Live(workspace, names.LocalKubeconfigSecret)
}

// event is the event that was just sent; it does not wait for one.
func (w *world) event(t *testing.T) string {
	t.Helper()
	select {
	case event := <-w.events.Events:
		return event
	default:
		require.Fail(t, "no event")
		return ""
	}
}
