package bundle

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/names"
)

// Sources reads ConfigMaps of the namespaces of bundles, and tells of their changes.
type Sources interface {
	Get(namespace, name string) (*corev1.ConfigMap, error)
	OnChange(ctx context.Context, changed func(namespace, name string))
}

// copies are the Secrets and ConfigMaps that a cluster's agent takes to its cluster. They are laid into the cluster's
// namespace before the deployment that names them.
type copies struct {
	objects []runtime.Object
	// due says that they are not all there.
	due bool
}

// generation stands for the content of the copies.
func (c copies) generation() int64 { return deployment.CopiesGeneration(c.objects) }

// copyKeys are what a bundle copies to some cluster, as values of an index.
func copyKeys(b *fleet.Bundle) []string {
	var keys []string
	add := func(list []fleet.DownstreamResource) {
		for _, r := range list {
			keys = append(keys, copyKey(r.Kind, b.Namespace, r.Name))
		}
	}
	add(b.Spec.DownstreamResources)
	for i := range b.Spec.Targets {
		add(b.Spec.Targets[i].DownstreamResources)
	}
	return keys
}

func copyKey(kind, namespace, name string) string {
	return deployment.CopyOf(fleet.DownstreamResource{Kind: kind}).Kind + "/" + namespace + "/" + name
}

// wakeNeeding looks at the bundles whose deployments in a cluster's namespace need a copy there.
func (h *handler) wakeNeeding(namespace string, c deployment.Copy) {
	deployments, err := h.Deployments.Cache().List(namespace, labels.Everything())
	if err != nil {
		return
	}
	for _, bd := range deployments {
		if source, name := bundleOf(bd); source != "" && deployment.Copies(bd)[c] {
			h.waker.Wake(source, name, soon)
		}
	}
}

func (h *handler) wakeCopies(kind, namespace, name string) {
	h.wakeIndexed(bundlesByCopy, copyKey(kind, namespace, name))
}

// observeCopies finds what is to be copied to each cluster. One whose sources are not all there waits for them.
func (h *handler) observeCopies(in *input) error {
	for i := range in.targets {
		p := in.places[in.targets[i].Key()]
		if len(in.targets[i].Options.DownstreamResources) == 0 || p.blocked != "" {
			continue
		}
		for _, r := range in.targets[i].Options.DownstreamResources {
			obj, missing, err := h.copyOf(in.bundle, deployment.CopyOf(r), p.namespace)
			if err != nil {
				return err
			}
			if missing != "" {
				p.blocked = "downstreamResources: " + missing
				break
			}
			p.copies.objects = append(p.copies.objects, obj)
		}
		var err error
		if p.copies.due, err = h.areDue(p); err != nil {
			return err
		}
	}
	return nil
}

// copyOf is a copy of an object, as it is to lie in a cluster's namespace; missing says why there can be none.
func (h *handler) copyOf(bundle *fleet.Bundle, c deployment.Copy, namespace string) (obj runtime.Object, missing string, err error) {
	if problem := deployment.CopyProblem(c); problem != "" {
		return nil, problem, nil
	}
	absent := deployment.CopyMissing(c, bundle.Namespace)
	switch c.Kind {
	case deployment.SecretKind:
		source, err := found(h.Secrets.Cache().Get(bundle.Namespace, c.Name))
		if err != nil || source == nil {
			return nil, absent, err
		}
		kubeconfigOf, err := h.kubeconfigOf(source)
		if err != nil {
			return nil, "", err
		}
		if problem := deployment.SourceProblem(source, kubeconfigOf); problem != "" {
			return nil, problem, nil
		}
		return &corev1.Secret{ObjectMeta: copyMeta(source.ObjectMeta, namespace), Type: source.Type, Data: source.Data}, "", nil
	case deployment.ConfigMapKind:
		source, err := found(h.Sources.Get(bundle.Namespace, c.Name))
		if err != nil {
			return nil, "", fmt.Errorf("reading ConfigMap %s/%s: %w", bundle.Namespace, c.Name, err)
		}
		if source == nil {
			return nil, absent, nil
		}
		return &corev1.ConfigMap{ObjectMeta: copyMeta(source.ObjectMeta, namespace), Data: source.Data, BinaryData: source.BinaryData}, "", nil
	}
	return nil, absent, nil
}

// kubeconfigOf is the Cluster that names a Secret as its kubeconfig, empty where none does.
func (h *handler) kubeconfigOf(secret *corev1.Secret) (string, error) {
	clusters, err := h.Clusters.Cache().GetByIndex(clustersByKubeconfig, secret.Namespace+"/"+secret.Name)
	if err != nil {
		return "", fmt.Errorf("finding the clusters whose kubeconfig is Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	if len(clusters) == 0 {
		return "", nil
	}
	return clusters[0].Namespace + "/" + clusters[0].Name, nil
}

// copyMeta keeps the labels and annotations that a person gave, and notes where they are from.
func copyMeta(source metav1.ObjectMeta, namespace string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: source.Name, Labels: map[string]string{}}
	for key, value := range source.Labels {
		if !strings.Contains(key, "cattle.io") {
			meta.Labels[key] = value
		}
	}
	for key, value := range source.Annotations {
		if !strings.Contains(key, "cattle.io") && key != corev1.LastAppliedConfigAnnotation {
			metav1.SetMetaDataAnnotation(&meta, key, value)
		}
	}
	meta.Labels[names.ManagedLabel], meta.Labels[deployment.CopyLabel] = "true", "true"
	metav1.SetMetaDataAnnotation(&meta, names.CopiedFromAnnotation, source.Namespace)
	return meta
}

// areDue says whether copies have to be written. Of ConfigMaps in clusters' namespaces there is no cache: the number in
// the deployment, which is written after them, tells that they were. Somebody may have removed one since: while the agent
// does not say that it has them, they are read, once for each version of the deployment.
func (h *handler) areDue(p *place) (bool, error) {
	if len(p.copies.objects) == 0 {
		return false, nil
	}
	generation := p.copies.generation()
	if p.deployment == nil || p.deployment.Spec.DownstreamResourcesGeneration != generation {
		return true, nil
	}
	version := p.deployment.ResourceVersion
	looked, _ := h.looked.Load(p.deployment.UID)
	live := p.deployment.Status.DownstreamResourcesGeneration != generation && looked != version
	for _, obj := range p.copies.objects {
		there, err := h.isThere(obj, live)
		if err != nil || !there {
			return !there, err
		}
	}
	if live {
		h.looked.Store(p.deployment.UID, version)
	}
	return false, nil
}

// isThere says whether a copy is as it should be; a ConfigMap is looked at only if live.
func (h *handler) isThere(copied runtime.Object, live bool) (bool, error) {
	switch want := copied.(type) {
	case *corev1.Secret:
		have, err := h.knownSecret(want.Namespace, want.Name)
		return have != nil && sameCopy(have, want), err
	case *corev1.ConfigMap:
		if !live {
			return true, nil
		}
		have, err := found(h.ConfigMaps.Get(want.Namespace, want.Name, metav1.GetOptions{}))
		if err != nil {
			return false, fmt.Errorf("reading ConfigMap %s/%s: %w", want.Namespace, want.Name, err)
		}
		return have != nil && sameConfigMap(have, want), nil
	}
	return true, nil
}

func sameCopy(have, want *corev1.Secret) bool {
	return have.Type == want.Type && equality.Semantic.DeepEqual(have.Data, want.Data) &&
		equality.Semantic.DeepEqual(have.Labels, want.Labels) && equality.Semantic.DeepEqual(have.Annotations, want.Annotations)
}
