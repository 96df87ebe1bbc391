package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
)

// dropCopies removes the copies that a BundleDeployment left. One that another BundleDeployment uses too becomes that
// one's.
func (r *Reconciler) dropCopies(ctx context.Context, session *attached, name string) error {
	client := r.Local.Agent().CoreV1()
	options := metav1.ListOptions{LabelSelector: labels.Set{fleet.BundleDeploymentOwnershipLabel: names.LabelValue(name)}.String()}
	secrets, err := client.Secrets("").List(ctx, options)
	if err != nil {
		return fmt.Errorf("copies of Secrets: %w", err)
	}
	configMaps, err := client.ConfigMaps("").List(ctx, options)
	if err != nil {
		return fmt.Errorf("copies of ConfigMaps: %w", err)
	}
	var errs []error
	for i := range secrets.Items {
		errs = append(errs, r.dropCopy(ctx, session, "secret", &secrets.Items[i].ObjectMeta))
	}
	for i := range configMaps.Items {
		errs = append(errs, r.dropCopy(ctx, session, "configmap", &configMaps.Items[i].ObjectMeta))
	}
	return errors.Join(errs...)
}

func (r *Reconciler) dropCopy(ctx context.Context, session *attached, kind string, copied *metav1.ObjectMeta) error {
	next := userOf(session.all(), kind, copied)
	var err error
	if next == "" {
		err = deleteCopy(ctx, r.Local.Agent(), kind, copied)
	} else {
		err = relabelCopy(ctx, r.Local.Agent(), kind, copied, next)
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // a conflict means that it is another object by now
	}
	return fmt.Errorf("copy %s/%s: %w", copied.Namespace, copied.Name, err)
}

// userOf is a BundleDeployment that has the same object copied to the same namespace, empty if there is none.
func userOf(all []*fleet.BundleDeployment, kind string, copied *metav1.ObjectMeta) string {
	for _, bd := range all {
		options := bd.Spec.Options
		uses := slices.ContainsFunc(options.DownstreamResources, func(d fleet.DownstreamResource) bool {
			return strings.EqualFold(d.Kind, kind) && d.Name == copied.Name
		})
		if uses && helmdeployer.Namespace(options) == copied.Namespace {
			return bd.Name
		}
	}
	return ""
}

func deleteCopy(ctx context.Context, client kubernetes.Interface, kind string, copied *metav1.ObjectMeta) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(copied.UID))}
	if kind == "secret" {
		return client.CoreV1().Secrets(copied.Namespace).Delete(ctx, copied.Name, options)
	}
	return client.CoreV1().ConfigMaps(copied.Namespace).Delete(ctx, copied.Name, options)
}

func relabelCopy(ctx context.Context, client kubernetes.Interface, kind string, copied *metav1.ObjectMeta, owner string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, copied.UID, fleet.BundleDeploymentOwnershipLabel, names.LabelValue(owner))
	var err error
	if kind == "secret" {
		_, err = client.CoreV1().Secrets(copied.Namespace).Patch(ctx, copied.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	} else {
		_, err = client.CoreV1().ConfigMaps(copied.Namespace).Patch(ctx, copied.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}
