package clusterimport

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// prune removes the agent from the namespaces that it has left, now that the new one has reported.
func (h *handler) prune(ctx context.Context, f facts) error {
	d, err := h.connect(f)
	if err != nil {
		return err
	}
	defer d.Close()
	uid, err := clusterUID(ctx, d)
	if err != nil {
		return err
	}
	record := f.record
	if uid == record.ClusterUID {
		for _, namespace := range record.Previous {
			left, err := h.vacate(ctx, d, f, namespace)
			if err != nil {
				return err
			}
			if !left {
				logrus.WithFields(logrus.Fields{"cluster": f.cluster.Namespace + "/" + f.cluster.Name, "namespace": namespace}).
					Info("The namespace that the agent has left is another's now; what is there is left alone")
			}
		}
	}
	record.Previous = nil
	return ours(h.writeRecord(f.cluster, record))
}

// teardown removes the agent of the local cluster, after it is proved that the kubeconfig leads to the hub itself: a
// cluster that is merely named local keeps its agent.
func (h *handler) teardown(ctx context.Context, f facts) error {
	d, err := h.connect(f)
	if err != nil {
		return err
	}
	defer d.Close()
	uid, err := clusterUID(ctx, d)
	if err != nil {
		return err
	}
	if uid != h.HubUID {
		logrus.WithField("cluster", f.cluster.Namespace+"/"+f.cluster.Name).Warn("bootstrap.localAgentDisabled: the kubeconfig leads to another cluster than this hub; its agent is left alone")
		return ours(h.reportTornDown(f, "the kubeconfig leads to another cluster than this hub, whose agent is left alone"))
	}
	if err := h.dropBundle(f.cluster); err != nil {
		return ours(err)
	}
	what := "the agent was removed"
	for _, namespace := range agentNamespaces(f) {
		left, err := h.vacate(ctx, d, f, namespace)
		if err != nil {
			return err
		}
		if !left {
			what = fmt.Sprintf("namespace %s is another's (annotation %s there), whose agent is left alone", namespace, names.AgentOwnerAnnotation)
		}
	}
	return ours(h.reportTornDown(f, what))
}

// dropBundle deletes the bundle of a cluster's agent, and none that only has its name.
func (h *handler) dropBundle(cluster *fleet.Cluster) error {
	name := names.AgentBundle(cluster.Name)
	bundle, err := h.Bundles.Get(cluster.Namespace, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading bundle %s: %w", name, err)
	case !names.IsAgentBundle(bundle, cluster):
		return nil
	}
	if err := kube.Deleted(h.Bundles.Delete(bundle.Namespace, bundle.Name, kube.ByUID(bundle.UID))); err != nil {
		return fmt.Errorf("deleting bundle %s: %w", name, err)
	}
	return nil
}

// agentNamespaces are those that an agent was put into: the settings may have changed since.
func agentNamespaces(f facts) []string {
	if f.record.Namespace == "" {
		return []string{f.options.Namespace}
	}
	return append([]string{f.record.Namespace}, f.record.Previous...)
}

// deleteAgent removes an agent's objects from a namespace, the Deployment first, so that nothing runs without its
// account, and the Lease of its election last, which a pod that ends may still write. The namespace stays, with all that
// others have there. still is asked before each of them whether it may go on.
func deleteAgent(ctx context.Context, d *kube.Downstream, namespace string, still func() error) error {
	for _, step := range agentParts(d.Clients, namespace) {
		if err := still(); err != nil {
			return err
		}
		background := metav1.DeletePropagationBackground
		err := step.remove(ctx, step.name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the agent's %s %s from %s: %w", step.kind, step.name, namespace, err)
		}
	}
	return nil
}

type part struct {
	kind, name string
	remove     func(context.Context, string, metav1.DeleteOptions) error
}

func agentParts(c kubernetes.Interface, ns string) []part {
	return []part{
		{"Deployment", names.AgentDeployment, c.AppsV1().Deployments(ns).Delete},
		{"StatefulSet", names.AgentDeployment, c.AppsV1().StatefulSets(ns).Delete},
		{"ClusterRoleBinding", names.AgentRoleBinding(ns), c.RbacV1().ClusterRoleBindings().Delete},
		{"ClusterRole", names.AgentRole(ns), c.RbacV1().ClusterRoles().Delete},
		{"Secret", names.AgentCredentialStore, c.CoreV1().Secrets(ns).Delete},
		{"Secret", names.AgentBootstrapSecret, c.CoreV1().Secrets(ns).Delete},
		{"Secret", names.AgentIdentitySecret, c.CoreV1().Secrets(ns).Delete},
		{"ConfigMap", names.AgentConfigMap, c.CoreV1().ConfigMaps(ns).Delete},
		{"ServiceAccount", names.AgentAccount, c.CoreV1().ServiceAccounts(ns).Delete},
		{"NetworkPolicy", names.AgentNetworkPolicy, c.NetworkingV1().NetworkPolicies(ns).Delete},
		{"PodDisruptionBudget", names.AgentDisruptionBudget, c.PolicyV1().PodDisruptionBudgets(ns).Delete},
		{"Lease", names.AgentElectionLease, c.CoordinationV1().Leases(ns).Delete},
	}
}
