package preflight

import (
	"context"
	"maps"
	"slices"
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

// residents looks for agents: in a namespace, and by their Deployment everywhere, where that may be listed.
func (c *caller) residents(ctx context.Context, namespace string) ([]resident, error) {
	found, err := c.agentDeployments(ctx, namespace)
	if err != nil {
		return nil, err
	}
	order := []string{namespace}
	for _, place := range slices.Sorted(maps.Keys(found)) {
		if place != namespace {
			order = append(order, place)
		}
	}
	var out []resident
	for _, place := range order {
		r, err := c.resident(ctx, place, found[place])
		if err != nil {
			return nil, err
		}
		if r.runs || r.reportsTo != "" || r.joins != "" || r.marked {
			out = append(out, r)
		}
	}
	return out, nil
}

// agentDeployments are the agents' Deployments by their namespaces.
func (c *caller) agentDeployments(ctx context.Context, namespace string) (map[string]*appsv1.Deployment, error) {
	found := map[string]*appsv1.Deployment{}
	list, err := ask(ctx, c, func(ctx context.Context) (*appsv1.DeploymentList, error) {
		return c.clients.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
			FieldSelector: "metadata.name=" + names.AgentDeployment, Limit: maxAgents,
		})
	})
	if apierrors.IsForbidden(err) {
		d, err := ask(ctx, c, func(ctx context.Context) (*appsv1.Deployment, error) {
			return c.clients.AppsV1().Deployments(namespace).Get(ctx, names.AgentDeployment, metav1.GetOptions{})
		})
		if err == nil {
			found[namespace] = d
		}
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return found, err
	}
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if d := &list.Items[i]; d.Name == names.AgentDeployment && len(found) < maxAgents {
			found[d.Namespace] = d
		}
	}
	return found, nil
}

// resident reads what an agent knows of its hub. Its tokens are left where they are.
func (c *caller) resident(ctx context.Context, namespace string, deployment *appsv1.Deployment) (resident, error) {
	r := resident{namespace: namespace, runs: deployment != nil}
	if deployment != nil {
		r.by = installerOf(deployment)
	}
	ns, err := c.namespace(ctx, namespace)
	switch {
	case err == nil:
		r.mark, r.marked, _ = registration.AgentOwnerOf(ns.Annotations)
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return r, err
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
	secret, err := ask(ctx, c, func(ctx context.Context) (*corev1.Secret, error) {
		return c.clients.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	})
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
