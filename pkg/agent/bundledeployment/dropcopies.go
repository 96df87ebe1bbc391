package bundledeployment

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// dropCopies removes the copies that a BundleDeployment left. One that another BundleDeployment uses too becomes that
// one's, and one that a person has copied further stays: it came with the labels, and says another place.
func (r *Reconciler) dropCopies(ctx context.Context, session *attached, name string) error {
	copies, err := copiesOf(ctx, r.Local.Agent(), name)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range copies {
		if c.isElsewhere() {
			continue
		}
		errs = append(errs, r.dropCopy(ctx, session, c.kind, c.meta))
	}
	return errors.Join(errs...)
}

// copiesOf are the copies that belong to a BundleDeployment.
func copiesOf(ctx context.Context, client kubernetes.Interface, name string) (out []copied, err error) {
	selector := labels.Set{fleet.BundleDeploymentOwnershipLabel: names.LabelValue(name)}.String()
	err = listCopies(ctx, client, selector, func(c copied) { out = append(out, c) })
	return out, err
}

// copiesPage is how many copies are read at a time: they come with what is in them.
const copiesPage = 20

// listCopies goes through the copies that a selector of labels takes.
func listCopies(ctx context.Context, client kubernetes.Interface, selector string, found func(copied)) error {
	options := metav1.ListOptions{LabelSelector: selector, Limit: copiesPage}
	for {
		secrets, err := client.CoreV1().Secrets("").List(ctx, options)
		if err != nil {
			return fmt.Errorf("copies of Secrets: %w", err)
		}
		for i := range secrets.Items {
			meta := secrets.Items[i].ObjectMeta // without the data, which is not kept
			found(copied{"secret", &meta})
		}
		if options.Continue = secrets.Continue; options.Continue == "" {
			break
		}
	}
	for {
		configMaps, err := client.CoreV1().ConfigMaps("").List(ctx, options)
		if err != nil {
			return fmt.Errorf("copies of ConfigMaps: %w", err)
		}
		for i := range configMaps.Items {
			meta := configMaps.Items[i].ObjectMeta
			found(copied{"configmap", &meta})
		}
		if options.Continue = configMaps.Continue; options.Continue == "" {
			return nil
		}
	}
}

func (r *Reconciler) dropCopy(ctx context.Context, session *attached, kind string, meta *metav1.ObjectMeta) error {
	next := userOf(session.all(), copied{kind, meta})
	var err error
	if next == "" {
		err = deleteCopy(ctx, r.Local.Agent(), kind, meta)
	} else {
		r.owners.add(next)
		err = relabelCopy(ctx, r.Local.Agent(), kind, meta, next)
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // a conflict means that it is another object by now
	}
	return fmt.Errorf("copy %s/%s: %w", meta.Namespace, meta.Name, err)
}

// userOf is a BundleDeployment that has the same object copied to the same namespace, empty if there is none.
func userOf(all []*fleet.BundleDeployment, c copied) string {
	for _, bd := range all {
		if c.isWantedBy(bd) {
			return bd.Name
		}
	}
	return ""
}

func deleteCopy(ctx context.Context, client kubernetes.Interface, kind string, meta *metav1.ObjectMeta) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(meta.UID))}
	if kind == "secret" {
		return client.CoreV1().Secrets(meta.Namespace).Delete(ctx, meta.Name, options)
	}
	return client.CoreV1().ConfigMaps(meta.Namespace).Delete(ctx, meta.Name, options)
}

func relabelCopy(ctx context.Context, client kubernetes.Interface, kind string, meta *metav1.ObjectMeta, owner string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, meta.UID, fleet.BundleDeploymentOwnershipLabel, names.LabelValue(owner))
	var err error
	if kind == "secret" {
		_, err = client.CoreV1().Secrets(meta.Namespace).Patch(ctx, meta.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	} else {
		_, err = client.CoreV1().ConfigMaps(meta.Namespace).Patch(ctx, meta.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}
