package preflight

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// maxAgents bounds how many agents of a cluster are looked at.
const maxAgents = 5

// resident is an agent that is on a cluster already.
type resident struct {
	namespace string
	// runs says that it has a Deployment; else its secrets alone are left.
	runs bool
	// by is what put it there, empty where that cannot be seen.
	by string
	// reportsTo is the hub of its credential, as the Cluster of that name; joins the hub that it has been told to join.
	reportsTo, as, joins string
	// unread says that its secrets may not be read.
	unread bool
}

// residents looks for agents: in a namespace, and by their Deployment everywhere, where that may be listed.
func (c *caller) residents(ctx context.Context, namespace string) ([]resident, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	found := map[string]*appsv1.Deployment{namespace: nil}
	order := []string{namespace}
	list, err := c.clients.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + names.AgentDeployment, Limit: maxAgents,
	})
	switch {
	case err == nil:
		for i := range list.Items {
			d := &list.Items[i]
			if d.Name != names.AgentDeployment || len(order) > maxAgents {
				continue
			}
			if _, known := found[d.Namespace]; !known {
				order = append(order, d.Namespace)
			}
			found[d.Namespace] = d
		}
	case apierrors.IsForbidden(err):
		d, err := c.clients.AppsV1().Deployments(namespace).Get(ctx, names.AgentDeployment, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if err == nil {
			found[namespace] = d
		}
	default:
		return nil, err
	}
	var out []resident
	for _, place := range order {
		r, err := c.resident(ctx, place, found[place])
		if err != nil {
			return nil, err
		}
		if r.runs || r.reportsTo != "" || r.joins != "" {
			out = append(out, r)
		}
	}
	return out, nil
}

// resident reads what an agent knows of its hub. Its tokens are left where they are.
func (c *caller) resident(ctx context.Context, namespace string, deployment *appsv1.Deployment) (resident, error) {
	r := resident{namespace: namespace, runs: deployment != nil}
	if deployment != nil {
		r.by = installerOf(deployment)
	}
	credential, err := c.secret(ctx, namespace, names.AgentCredentialStore)
	if err != nil {
		if apierrors.IsForbidden(err) {
			r.unread = true
			return r, nil
		}
		return r, err
	}
	if credential != nil {
		r.reportsTo = "a hub that its credential does not tell"
		if cfg, err := kube.ParseKubeconfig(credential.Data[registration.KeyKubeconfig]); err == nil {
			r.reportsTo = cfg.Host
		}
		r.as = string(credential.Data[registration.KeyClusterNamespace]) + "/" + string(credential.Data[registration.KeyClusterName])
	}
	bootstrap, err := c.secret(ctx, namespace, names.AgentBootstrapSecret)
	if err != nil && !apierrors.IsForbidden(err) {
		return r, err
	}
	if bootstrap != nil {
		r.joins = "a hub that its bootstrap secret does not tell"
		if b, err := registration.ParseBootstrap(bootstrap.Data); err == nil {
			r.joins = b.APIServerURL
		}
	}
	return r, nil
}

func (c *caller) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret, err := c.clients.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return secret, nil
}

// installerOf says what put an agent there.
func installerOf(d *appsv1.Deployment) string {
	if release := d.Annotations["meta.helm.sh/release-name"]; release != "" {
		return "Helm release " + word(release)
	}
	for key := range d.Annotations {
		if strings.HasPrefix(key, names.ApplyPrefix) {
			return "a hub"
		}
	}
	return ""
}

// decideAgents judges the agents that are on a cluster. hub is the address of the hub that the cluster is to join, where it
// is known.
func decideAgents(found []resident, err error, hub string) finding {
	if err != nil {
		if apierrors.IsForbidden(err) {
			return skip("the account may not look")
		}
		return doubt("it could not be looked for: "+word(timedOut(err).Error()), "Look for Deployment "+names.AgentDeployment+" on the cluster.")
	}
	if len(found) == 0 {
		return fine("there is none")
	}
	var lines []string
	ours := hub != ""
	for _, r := range found {
		lines = append(lines, r.String())
		ours = ours && sameAddress(r.hub(), hub)
	}
	text := strings.Join(lines, "; ")
	if ours {
		return fine(text + ": it is this hub's, and joins anew")
	}
	return doubt(text, "Is it another hub's, delete or revoke its Cluster there first (docs/operations.md, Move a cluster to another hub), since an agent reports to one hub.")
}

// hub is the address of the hub that an agent belongs to, or will.
func (r resident) hub() string {
	if r.joins != "" {
		return r.joins
	}
	return r.reportsTo
}

func (r resident) String() string {
	text := "there is an agent in namespace " + word(r.namespace)
	if !r.runs {
		text = "there are secrets of an agent in namespace " + word(r.namespace) + ", and no Deployment"
	}
	if r.by != "" {
		text += ", put there by " + r.by
	}
	if r.reportsTo != "" {
		text += fmt.Sprintf(", which reports to %s as %s", shownAddress(r.reportsTo), word(r.as))
	}
	if r.joins != "" {
		text += ", which is to join " + shownAddress(r.joins)
	}
	if r.unread {
		text += "; its secrets may not be read"
	}
	return text
}
