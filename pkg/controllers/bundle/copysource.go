package bundle

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/names"
)

// youngCopy is how long a copy may lie in a cluster's namespace before the deployment that it was made for does.
const youngCopy = time.Minute

// mayBeCopied refuses what would overwrite an object that is no copy, or is the copy of another namespace's object that a
// deployment there needs: a mapping may bring two workspaces to one cluster, and they would overwrite each other without
// end. One whose source is not noted is of an older hub, and becomes that of whoever writes it next.
func (h *handler) mayBeCopied(have, want metav1.Object, kind string) error {
	if !deployment.IsCopy(have) {
		return fmt.Errorf("downstreamResources: %s %s/%s is there and is no copy; rename the object that is to be copied",
			kind, have.GetNamespace(), have.GetName())
	}
	theirs := have.GetAnnotations()[names.CopiedFromAnnotation]
	if theirs == "" || theirs == want.GetAnnotations()[names.CopiedFromAnnotation] {
		return nil
	}
	needed, err := h.isNeededBy(theirs, have, kind)
	if err != nil || !needed {
		return err
	}
	return fmt.Errorf("downstreamResources: %s %s/%s is the copy of that of namespace %s, which a bundle of there needs: two of one name cannot go to one cluster, rename one of them",
		kind, have.GetNamespace(), have.GetName(), theirs)
}

// isNeededBy says whether a bundle of a namespace needs a copy. The API server is asked: one that was just deployed must not
// get what another one copies.
func (h *handler) isNeededBy(source string, copied metav1.Object, kind string) (bool, error) {
	if h.isYoung(copied) {
		return true, nil
	}
	live, err := h.Deployments.List(copied.GetNamespace(), metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing the deployments of %s: %w", copied.GetNamespace(), err)
	}
	for i := range live.Items {
		namespace, _ := bundleOf(&live.Items[i])
		if namespace == source && deployment.Copies(&live.Items[i])[deployment.Copy{Kind: kind, Name: copied.GetName()}] {
			return true, nil
		}
	}
	return false, nil
}

// isYoung says whether the deployment that a copy was made for may not be there yet.
func (h *handler) isYoung(copied metav1.Object) bool {
	return h.Clock.Now().Sub(copied.GetCreationTimestamp().Time) < youngCopy
}
