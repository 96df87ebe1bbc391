package bundledeployment

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
)

// copiesAreDue says whether the copies of the hub's objects have to be compared: when the hub says that one of them has
// changed, and once with each session.
func (p *pass) copiesAreDue() (due bool) {
	if len(p.bd.Spec.Options.DownstreamResources) == 0 {
		return false
	}
	p.memory.about(p.bd.Name, func(n *note) { due = n.copied != p.session })
	return due || p.status.DownstreamResourcesGeneration != p.bd.Spec.DownstreamResourcesGeneration
}

// copy brings Secrets and ConfigMaps from the hub, and says whether one that was here before has changed.
func (p *pass) copy(ctx context.Context) (changed bool, err error) {
	if !p.copiesAreDue() {
		return false, nil
	}
	options := p.bd.Spec.Options
	client, err := p.Local.As(ctx, options.ServiceAccount)
	if err != nil {
		return false, err
	}
	namespace := helmdeployer.Namespace(options)
	if err := p.ensureNamespace(ctx, client, namespace); err != nil {
		return false, err
	}
	p.owners.add(p.bd.Name)
	for _, resource := range options.DownstreamResources {
		updated, err := p.copyOne(ctx, client, namespace, resource)
		if err != nil {
			return changed, fmt.Errorf("copying %s %s from the hub: %w", resource.Kind, resource.Name, err)
		}
		changed = changed || updated
	}
	p.status.DownstreamResourcesGeneration = p.bd.Spec.DownstreamResourcesGeneration
	p.memory.about(p.bd.Name, func(n *note) { n.copied = p.session })
	return changed, nil
}

func (p *pass) ensureNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	_, err := p.Local.Namespace(ctx, name)
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	if create := p.bd.Spec.Options.CreateNamespace; create != nil && !*create {
		return fmt.Errorf("namespace %s does not exist, and createNamespace is false", name)
	}
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}

func (p *pass) copyOne(ctx context.Context, client kubernetes.Interface, namespace string, resource fleet.DownstreamResource) (bool, error) {
	switch strings.ToLower(resource.Kind) {
	case "secret":
		source, err := p.session.Secret(ctx, p.bd.Namespace, resource.Name)
		if err != nil {
			return false, &fromHub{err}
		}
		if strings.HasPrefix(string(source.Type), names.Prefix) { // another bundle's values, or the agent's credential
			return false, &notTakenOn{fmt.Sprintf("downstreamResources: Secret %s is Fleet's own, of type %.80q", resource.Name, source.Type)}
		}
		return copySecret(ctx, client, &corev1.Secret{
			ObjectMeta: copiedMeta(source.ObjectMeta, namespace, p.bd.Name), Type: source.Type, Data: source.Data,
		})
	case "configmap":
		source, err := p.session.ConfigMap(ctx, p.bd.Namespace, resource.Name)
		if err != nil {
			return false, &fromHub{err}
		}
		return copyConfigMap(ctx, client, &corev1.ConfigMap{
			ObjectMeta: copiedMeta(source.ObjectMeta, namespace, p.bd.Name), Data: source.Data, BinaryData: source.BinaryData,
		})
	}
	return false, &notTakenOn{fmt.Sprintf("downstreamResources: %.40q is neither Secret nor ConfigMap", resource.Kind)}
}

// copiedMeta is the metadata of a copy. What the hub notes for itself stays behind; the annotation of kubectl would repeat
// the whole object.
func copiedMeta(source metav1.ObjectMeta, namespace, owner string) metav1.ObjectMeta {
	foreign := func(key, _ string) bool {
		return key == names.ManagedLabel || key == names.CopiedFromAnnotation || key == corev1.LastAppliedConfigAnnotation || strings.HasPrefix(key, names.ApplyPrefix)
	}
	meta := metav1.ObjectMeta{
		Namespace: namespace, Name: source.Name,
		Labels: maps.Clone(source.Labels), Annotations: maps.Clone(source.Annotations),
	}
	maps.DeleteFunc(meta.Labels, foreign)
	maps.DeleteFunc(meta.Annotations, foreign)
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	meta.Labels[fleet.BundleDeploymentOwnershipLabel] = names.LabelValue(owner)
	metav1.SetMetaDataAnnotation(&meta, names.CopiedToAnnotation, placeOfCopy(namespace, source.Name))
	return meta
}

// takeOver decides about an object that is there already: whether it is as wanted, and else whether it may be changed.
// Bundles of one namespace may share a copy; it stays with the one that made it. What is no copy is never changed.
func takeOver(kind string, have, want *metav1.ObjectMeta, sameData bool) (change bool, err error) {
	owner := have.Labels[fleet.BundleDeploymentOwnershipLabel]
	switch {
	case owner == "" && sameData:
		return false, nil
	case owner == "":
		return false, fmt.Errorf("%s %s/%s exists with other data and is not a copy that Fleet made: rename one of them, or remove it",
			kind, have.Namespace, have.Name)
	}
	want.Labels[fleet.BundleDeploymentOwnershipLabel] = owner
	same := sameData && equality.Semantic.DeepEqual(have.Labels, want.Labels) && equality.Semantic.DeepEqual(have.Annotations, want.Annotations)
	want.UID, want.ResourceVersion = have.UID, have.ResourceVersion
	return !same, nil
}

func copySecret(ctx context.Context, client kubernetes.Interface, want *corev1.Secret) (bool, error) {
	secrets := client.CoreV1().Secrets(want.Namespace)
	have, err := secrets.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, want, metav1.CreateOptions{})
		return false, err
	}
	if err != nil {
		return false, err
	}
	same := have.Type == want.Type && equality.Semantic.DeepEqual(have.Data, want.Data)
	change, err := takeOver("Secret", &have.ObjectMeta, &want.ObjectMeta, same)
	if err != nil || !change {
		return false, err
	}
	if have.Type == want.Type {
		_, err = secrets.Update(ctx, want, metav1.UpdateOptions{})
		return !same, err
	}
	// The type of a Secret cannot be changed.
	if err := secrets.Delete(ctx, have.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(have.UID))}); err != nil {
		return false, err
	}
	want.UID, want.ResourceVersion = "", ""
	_, err = secrets.Create(ctx, want, metav1.CreateOptions{})
	return true, err
}

func copyConfigMap(ctx context.Context, client kubernetes.Interface, want *corev1.ConfigMap) (bool, error) {
	configMaps := client.CoreV1().ConfigMaps(want.Namespace)
	have, err := configMaps.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configMaps.Create(ctx, want, metav1.CreateOptions{})
		return false, err
	}
	if err != nil {
		return false, err
	}
	same := equality.Semantic.DeepEqual(have.Data, want.Data) && equality.Semantic.DeepEqual(have.BinaryData, want.BinaryData)
	change, err := takeOver("ConfigMap", &have.ObjectMeta, &want.ObjectMeta, same)
	if err != nil || !change {
		return false, err
	}
	_, err = configMaps.Update(ctx, want, metav1.UpdateOptions{})
	return !same, err
}
