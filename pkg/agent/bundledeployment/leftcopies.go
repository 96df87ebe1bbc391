package bundledeployment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
)

// dropLeft removes the copies that a BundleDeployment had and does not ask for any more, once for each version, and not
// before that version is on the cluster: until then something may use them. Only what says of itself that the agent copied
// it to where it is goes, after the hub itself has said that the version is still the one that is wanted.
func (p *pass) dropLeft(ctx context.Context) error {
	version, looked := p.bd.Spec.DeploymentID, false
	p.memory.about(p.bd.Name, func(n *note) { looked = n.cleared == version })
	if looked || !isMonitored(p.bd.Spec, p.status) || p.copiesAreDue() {
		return nil
	}
	has, err := p.owners.has(ctx, p.Local.Agent(), p.bd.Name)
	if err == nil && has {
		err = p.dropUnwanted(ctx)
	}
	if err != nil {
		return fmt.Errorf("copies that are not wanted any more: %w", err)
	}
	p.memory.about(p.bd.Name, func(n *note) { n.cleared = version })
	return nil
}

func (p *pass) dropUnwanted(ctx context.Context) error {
	copies, err := copiesOf(ctx, p.Local.Agent(), p.bd.Name)
	if err != nil {
		return err
	}
	copies = slices.DeleteFunc(copies, func(c copied) bool { return !c.isOurs() || c.isWantedBy(p.bd) })
	if len(copies) == 0 {
		return nil
	}
	live, err := p.session.Deployment(ctx, p.bd.Namespace, p.bd.Name)
	switch {
	case err != nil:
		return fmt.Errorf("whether the hub still wants this version: %w", err)
	case live.UID != p.bd.UID || live.Spec.DeploymentID != p.bd.Spec.DeploymentID:
		return fmt.Errorf("BundleDeployment %s/%s is another by now, the watch is behind", p.bd.Namespace, p.bd.Name)
	}
	for _, c := range copies {
		if err := p.dropCopy(ctx, p.session, c.kind, c.meta); err != nil {
			return err
		}
		p.log.Infof("The copy of %s %s/%s is not wanted any more", c.kind, c.meta.Namespace, c.meta.Name)
	}
	return nil
}

// copied is a copy on the cluster.
type copied struct {
	// kind is "secret" or "configmap".
	kind string
	meta *metav1.ObjectMeta
}

// isOurs says whether the agent itself put the copy where it is. One that a person has copied further says another place.
func (c copied) isOurs() bool {
	return c.meta.Annotations[names.CopiedToAnnotation] == placeOfCopy(c.meta.Namespace, c.meta.Name)
}

// isElsewhere says whether a copy says another place than where it is. One of an older agent says none.
func (c copied) isElsewhere() bool {
	place, ok := c.meta.Annotations[names.CopiedToAnnotation]
	return ok && place != placeOfCopy(c.meta.Namespace, c.meta.Name)
}

func (c copied) isWantedBy(bd *fleet.BundleDeployment) bool {
	return helmdeployer.Namespace(bd.Spec.Options) == c.meta.Namespace &&
		slices.ContainsFunc(bd.Spec.Options.DownstreamResources, func(d fleet.DownstreamResource) bool {
			return strings.EqualFold(d.Kind, c.kind) && d.Name == c.meta.Name
		})
}

func placeOfCopy(namespace, name string) string { return namespace + "/" + name }

// owners are those that copies on the cluster belong to, as their label has it. It is asked for once: later copies are the
// agent's own. Bundles without copies, which are most, cost no look then.
type owners struct {
	mu    sync.Mutex
	known bool
	found map[string]bool
}

// ownersTimeout ends the look for them.
const ownersTimeout = 30 * time.Second

func newOwners() *owners { return &owners{found: map[string]bool{}} }

func (o *owners) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found[names.LabelValue(name)] = true
}

// has says whether a BundleDeployment has copies, or had some since the agent began. An agent that may not list Secrets
// finds none of an earlier one.
func (o *owners) has(ctx context.Context, client kubernetes.Interface, name string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known {
		ctx, cancel := context.WithTimeout(ctx, ownersTimeout)
		defer cancel()
		err := listCopies(ctx, client, fleet.BundleDeploymentOwnershipLabel, func(c copied) {
			o.found[c.meta.Labels[fleet.BundleDeploymentOwnershipLabel]] = true
		})
		if err != nil && !apierrors.IsForbidden(err) {
			return false, err
		}
		o.known = true
	}
	return o.found[names.LabelValue(name)], nil
}
