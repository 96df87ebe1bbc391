package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/rancher/fleet/pkg/names"
)

// component is who the agent's Events come from.
const component = "fleet-agent"

// recorder writes Events about the agent's Deployment. client-go's broadcaster merges repetitions and bounds their rate.
type recorder struct {
	record.EventRecorder
	broadcaster record.EventBroadcaster
	about       *corev1.ObjectReference
}

func newRecorder(ctx context.Context, client kubernetes.Interface, namespace string) *recorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	return &recorder{
		EventRecorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		broadcaster:   broadcaster,
		about:         deployment(ctx, client, namespace),
	}
}

func (r *recorder) stop() { r.broadcaster.Shutdown() }

// deployment refers to the agent's Deployment. An agent that runs as a plain process has none; then the name has to do.
func deployment(ctx context.Context, client kubernetes.Interface, namespace string) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: names.AgentDeployment}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if found, err := client.AppsV1().Deployments(namespace).Get(ctx, names.AgentDeployment, metav1.GetOptions{}); err == nil {
		ref.UID = found.UID
	}
	return ref
}
