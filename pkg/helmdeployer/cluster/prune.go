package cluster

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
)

// Marks that Helm puts on the objects of a release.
const (
	ManagedByLabel             = "app.kubernetes.io/managed-by"
	ManagedBy                  = "Helm"
	ReleaseNameAnnotation      = "meta.helm.sh/release-name"
	ReleaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
)

// Own marks objects as the release's.
func (c *Client) Own(infos kube.ResourceList) error {
	for _, info := range infos {
		object, err := meta.Accessor(info.Object)
		if err != nil {
			return fmt.Errorf("%s %q: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
		}
		object.SetLabels(with(object.GetLabels(), ManagedByLabel, ManagedBy))
		annotations := with(object.GetAnnotations(), ReleaseNameAnnotation, c.release.Name)
		object.SetAnnotations(with(annotations, ReleaseNamespaceAnnotation, c.release.Namespace))
	}
	return nil
}

func with(marks map[string]string, key, value string) map[string]string {
	if marks == nil {
		marks = map[string]string{}
	}
	marks[key] = value
	return marks
}

// Owner is the release that an object belongs to, by the marks that Helm puts on it.
func Owner(object metav1.Object) (namespace, name string) {
	annotations := object.GetAnnotations()
	return annotations[ReleaseNamespaceAnnotation], annotations[ReleaseNameAnnotation]
}

// whose says whether a live object is this release's, or marked as another's.
func (c *Client) whose(object metav1.Object) (ours, others bool) {
	namespace, name := Owner(object)
	if namespace == "" && name == "" {
		return false, false
	}
	ours = namespace == c.release.Namespace && name == c.release.Name
	return ours, !ours
}

// Live reads an object, and leaves the info as it is; nil means that there is none.
func Live(info *resource.Info) (metav1.Object, error) {
	found, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	object, err := meta.Accessor(found)
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	return object, nil
}

// own leaves out what another release has taken over since. Where only what is surely this release's counts, it leaves out
// what bears no mark of it, too.
func (c *Client) own(resources kube.ResourceList, surely bool) (kube.ResourceList, error) {
	var own kube.ResourceList
	for _, info := range resources {
		object, err := Live(info)
		if err != nil {
			return nil, err
		}
		if object != nil {
			if ours, others := c.whose(object); others || surely && !ours {
				continue
			}
		}
		own.Append(info)
	}
	return own, nil
}

// prune removes what the release had, or an earlier attempt, and what it no longer wants. Only that goes which the release
// has marked as its own, and what is to be kept stays: whoever may write Secrets in the release's namespace can write
// any name into its record.
func (c *Client) prune(total *kube.Result, original, target kube.ResourceList) error {
	var errs []error
	for _, info := range original.Difference(target) {
		errs = append(errs, c.remove(total, info))
	}
	for _, info := range c.Strays.Difference(target).Difference(original) {
		errs = append(errs, c.remove(total, info))
	}
	return errors.Join(errs...)
}

func (c *Client) remove(total *kube.Result, info *resource.Info) error {
	object, err := Live(info)
	if err != nil || object == nil {
		return err
	}
	if ours, _ := c.whose(object); !ours || object.GetAnnotations()[kube.ResourcePolicyAnno] == kube.KeepPolicy {
		return nil
	}
	_, errs := c.Client.Delete(kube.ResourceList{info})
	if len(errs) > 0 {
		return fmt.Errorf("removing %s %q: %w", info.Mapping.GroupVersionKind.Kind, info.Name, errs[0])
	}
	total.Deleted = append(total.Deleted, info)
	return nil
}

// settle waits for objects that are being removed: a change to one would be lost with it.
func (c *Client) settle(target kube.ResourceList) error {
	var going kube.ResourceList
	for _, info := range target {
		object, err := Live(info)
		if err != nil {
			return err
		}
		if object != nil && object.GetDeletionTimestamp() != nil {
			copied := *info
			going.Append(&copied)
		}
	}
	if len(going) == 0 {
		return nil
	}
	return c.WaitForDelete(going, goneTimeout)
}
