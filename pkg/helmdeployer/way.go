package helmdeployer

import (
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

const (
	// namespaceNameLabel is the API server's.
	namespaceNameLabel = "kubernetes.io/metadata.name"
	// podSecurityPrefix begins labels that decide what pods may do. A bundle does not decide that about itself.
	podSecurityPrefix = "pod-security.kubernetes.io/"
)

// makeWay makes what must be there before the first object of a release: its namespace, and the definitions that come with
// the chart. It is called once the bundle is rendered and accepted.
func (op *operation) makeWay() error {
	if create := op.job.Options.CreateNamespace; create == nil || *create {
		if err := op.makeNamespace(); err != nil {
			return err
		}
	}
	return op.client.InstallDefinitions(render.ChartCRDs(op.bundle.Chart))
}

// makeNamespace is on the bundle's behalf, but an account that may not create namespaces can use one that is there.
func (op *operation) makeNamespace() error {
	self, err := op.d.self()
	if err != nil {
		return err
	}
	_, err = self.Kube.CoreV1().Namespaces().Get(op.ctx, op.namespace, metav1.GetOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s: %w", op.namespace, err)
	}
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: op.namespace, Labels: map[string]string{"name": op.namespace}}}
	if _, err := op.identity.Kube.CoreV1().Namespaces().Create(op.ctx, made, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s: %w", op.namespace, err)
	}
	return nil
}

// markNamespace gives the namespace of the release the labels and annotations that the bundle wants, and no others.
func (op *operation) markNamespace() error {
	options := op.job.Options
	if options.NamespaceLabels == nil && options.NamespaceAnnotations == nil {
		return nil
	}
	namespaces := op.identity.Kube.CoreV1().Namespaces()
	err := mark(op.ctx, namespaces, op.namespace, options.NamespaceLabels, options.NamespaceAnnotations)
	if apierrors.IsForbidden(err) {
		return &NamespaceForbidden{Namespace: op.namespace, Err: err}
	}
	if err != nil {
		return fmt.Errorf("labels and annotations of namespace %s: %w", op.namespace, err)
	}
	return nil
}

type namespaceClient interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Namespace, error)
	Update(ctx context.Context, namespace *corev1.Namespace, opts metav1.UpdateOptions) (*corev1.Namespace, error)
}

func mark(ctx context.Context, namespaces namespaceClient, name string, labels, annotations map[string]string) error {
	namespace, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changed := namespace.DeepCopy()
	if labels != nil {
		changed.Labels = namespaceLabels(namespace.Labels, labels)
	}
	if annotations != nil {
		changed.Annotations = maps.Clone(annotations)
	}
	if maps.Equal(changed.Labels, namespace.Labels) && maps.Equal(changed.Annotations, namespace.Annotations) {
		return nil
	}
	_, err = namespaces.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

func namespaceLabels(live, wanted map[string]string) map[string]string {
	labels := map[string]string{}
	for key, value := range wanted {
		if !strings.HasPrefix(key, podSecurityPrefix) {
			labels[key] = value
		}
	}
	for key, value := range live {
		if key == namespaceNameLabel || strings.HasPrefix(key, podSecurityPrefix) {
			labels[key] = value
		}
	}
	return labels
}

// checkOwners is for the first deployment of a bundle under a new name: what its earlier releases own is taken over, what
// anybody else has is not.
func (op *operation) checkOwners(objects []*unstructured.Unstructured) error {
	op.client.Define(objects)
	infos, err := op.client.Infos(objects, false)
	if err != nil {
		return err
	}
	allowed := map[[2]string]bool{{op.namespace, op.name}: true}
	for _, other := range op.others {
		allowed[[2]string{other.Namespace, other.Name}] = true
	}
	for _, info := range infos {
		object, err := cluster.Live(info)
		if err != nil {
			return err
		}
		if object == nil {
			continue
		}
		if namespace, name := cluster.Owner(object); !allowed[[2]string{namespace, name}] {
			return fmt.Errorf("%s %q in namespace %q exists and cannot be imported into the current release: invalid ownership metadata; "+
				"annotation validation error: it belongs to release %q in namespace %q (helm.takeOwnership takes it over)",
				info.Mapping.GroupVersionKind.Kind, info.Name, info.Namespace, name, namespace)
		}
	}
	return nil
}
