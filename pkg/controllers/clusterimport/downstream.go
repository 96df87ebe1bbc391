package clusterimport

import (
	"context"
	"fmt"
	"maps"

	"github.com/sirupsen/logrus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// agentKinds are all kinds that an agent's objects can be of. A kind stays here after the last object of it is gone.
var agentKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
	rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
}

const kubeSystem = "kube-system"

// connect makes a client from the kubeconfig, which is untrusted.
func (h *handler) connect(f facts) (*kube.Downstream, error) {
	cfg, err := kube.DownstreamConfig(f.secret.Data[keyKubeconfig], f.config.AgentTLSMode, callTimeout)
	if err != nil {
		return nil, &trouble{reason: reasonBadKubeconfig, final: true, err: fmt.Errorf("secret %s/%s, key %q: %w", f.secretNamespace, f.secret.Name, keyKubeconfig, err)}
	}
	cfg.UserAgent = h.UserAgent // its audit log tells who came
	return kube.NewDownstream(cfg)
}

// clusterUID is what tells one cluster from another.
func clusterUID(ctx context.Context, d *kube.Downstream) (string, error) {
	ns, err := d.Clients.CoreV1().Namespaces().Get(ctx, kubeSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading namespace %s: %w", kubeSystem, err)
	}
	if ns.UID == "" {
		return "", fmt.Errorf("namespace %s has no UID", kubeSystem)
	}
	return string(ns.UID), nil
}

// deploy applies the agent over what is there and removes nothing: an old agent runs until the new one has reported. The
// stored credential is left in place; the agent replaces it once it has tested the new one.
func (h *handler) deploy(ctx context.Context, d *kube.Downstream, f facts, s site, bootstrap registration.Bootstrap) error {
	objects, err := agentObjects(f)
	if err != nil {
		return &trouble{reason: reasonBadOptions, final: true, err: err}
	}
	if err := h.occupy(ctx, d, f, s); err != nil {
		return err
	}
	if err := h.copyPullSecrets(ctx, d, f); err != nil {
		return err
	}
	if err := renewClass(ctx, d, objects); err != nil {
		return err
	}
	if err := d.ApplySet(ctx, names.AgentSet(f.options.Scope), agentKinds, objects...); err != nil {
		return err
	}
	if err := h.stillMine(ctx, d, f, s.place); err != nil {
		return err
	}
	return writeSecret(ctx, d, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.options.Namespace, Name: names.AgentBootstrapSecret},
		Type:       corev1.SecretTypeOpaque,
		Data:       bootstrap.SecretData(),
	})
}

func agentObjects(f facts) ([]runtime.Object, error) {
	scheduling, err := agentmanifest.Scheduling(f.options)
	if err != nil {
		return nil, err
	}
	cm, err := agentmanifest.ConfigMap(f.options.Namespace, agentmanifest.AgentConfig{
		Labels:                    f.cluster.Labels,
		ClientID:                  f.cluster.Spec.ClientID,
		AgentTLSMode:              f.config.AgentTLSMode,
		GarbageCollectionInterval: f.config.GarbageCollectionInterval.Duration,
	})
	if err != nil {
		return nil, err
	}
	objects, err := agentmanifest.Objects(f.options)
	if err != nil {
		return nil, err
	}
	return append(append(scheduling, cm), objects...), nil
}

// writeSecret creates or updates a secret directly: the apply engine would repeat its first bytes in an annotation.
func writeSecret(ctx context.Context, d *kube.Downstream, want *corev1.Secret) error {
	secrets := d.Clients.CoreV1().Secrets(want.Namespace)
	have, err := secrets.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = secrets.Create(ctx, want, metav1.CreateOptions{})
	case err != nil:
	case have.Type == want.Type && equality.Semantic.DeepEqual(have.Data, want.Data):
		return nil
	default:
		updated := have.DeepCopy()
		updated.Data = maps.Clone(want.Data)
		_, err = secrets.Update(ctx, updated, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("secret %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

// isPullSecret says whether a Secret is for pulling images. Others in the hub's namespace open the hub itself: a name that was
// mistaken must bring none of them to a cluster.
func isPullSecret(secret *corev1.Secret) bool {
	return secret.Type == corev1.SecretTypeDockerConfigJson || secret.Type == corev1.SecretTypeDockercfg
}

// copyPullSecrets brings the hub's own pull secrets to the agent, where the Cluster names none of its own.
func (h *handler) copyPullSecrets(ctx context.Context, d *kube.Downstream, f facts) error {
	if f.cluster.Spec.AgentPullSecrets != nil {
		return nil
	}
	for _, ref := range f.options.PullSecrets {
		source, err := h.Secrets.Cache().Get(h.Names.System, ref.Name)
		if apierrors.IsNotFound(err) {
			logrus.WithField("secret", h.Names.System+"/"+ref.Name).Warn("A pull secret of the configuration (imagePullSecrets) does not exist; agents are deployed without it")
			continue
		}
		if err != nil {
			return fmt.Errorf("reading pull secret %s/%s: %w", h.Names.System, ref.Name, err)
		}
		if !isPullSecret(source) {
			logrus.WithField("secret", h.Names.System+"/"+ref.Name).Warnf("A pull secret of the configuration (imagePullSecrets) is of type %.80q, which holds no access to images, and goes to no cluster: correct the name, or make it with kubectl create secret docker-registry",
				source.Type)
			continue
		}
		err = writeSecret(ctx, d, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.options.Namespace, Name: source.Name},
			Type:       source.Type,
			Data:       source.Data,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
