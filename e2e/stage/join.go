package stage

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/proc"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const agentDeployment = "fleet-agent"

// KubeconfigSecret is a kubeconfig secret for a downstream cluster, as a person would write it.
func KubeconfigSecret(downstream *Cluster, workspace, name string) (*corev1.Secret, error) {
	token, err := downstream.AdminToken()
	if err != nil {
		return nil, err
	}
	front := downstream.front()
	kubeconfig, err := lab.Kubeconfig{Name: downstream.Name, Server: front.URL, CA: front.CA, Token: token}.Bytes()
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name},
		Data:       map[string][]byte{"value": kubeconfig},
	}, nil
}

// JoinByManager writes the kubeconfig secret and the Cluster of a cluster that the hub is to import.
func (s *Stage) JoinByManager(ctx context.Context, downstream *Cluster, workspace, name string, labels map[string]string) error {
	if err := s.EnsureNamespace(ctx, workspace); err != nil {
		return err
	}
	secret, err := KubeconfigSecret(downstream, workspace, name+"-kubeconfig")
	if err != nil {
		return err
	}
	if _, err := s.Hub.Kube.CoreV1().Secrets(workspace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("kubeconfig secret of %s: %w", name, err)
	}
	return Create(ctx, s.Hub, Clusters, "Cluster", workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, Labels: labels},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: secret.Name},
	})
}

// EnsureNamespace makes a namespace on the hub that does not exist yet.
func (s *Stage) EnsureNamespace(ctx context.Context, name string) error {
	_, err := s.Hub.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}

// NewToken makes a registration token and returns the values that its secret holds.
func (s *Stage) NewToken(ctx context.Context, workspace, name string, spec fleet.ClusterRegistrationTokenSpec) (map[string]any, error) {
	if err := s.EnsureNamespace(ctx, workspace); err != nil {
		return nil, err
	}
	token := &fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name}, Spec: spec}
	if err := Create(ctx, s.Hub, Tokens, "ClusterRegistrationToken", workspace, token); err != nil {
		return nil, err
	}
	return s.TokenValues(ctx, workspace, name)
}

// TokenValues waits for the values of a registration token.
func (s *Stage) TokenValues(ctx context.Context, workspace, name string) (map[string]any, error) {
	var values map[string]any
	err := Await(ctx, "the values of registration token "+workspace+"/"+name, func(ctx context.Context) (bool, string, error) {
		token, err := Get[fleet.ClusterRegistrationToken](ctx, s.Hub, Tokens, workspace, name)
		if err != nil || token == nil || token.Status.SecretName == "" {
			return false, "no secret yet", err
		}
		secret, err := s.Hub.Kube.CoreV1().Secrets(workspace).Get(ctx, token.Status.SecretName, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		values = nil
		return true, "", yaml.Unmarshal(secret.Data["values"], &values)
	})
	return values, err
}

// JoinByAgent installs the agent's chart with the values of a registration token.
func (s *Stage) JoinByAgent(ctx context.Context, downstream *Cluster, values map[string]any, more map[string]any) error {
	all := map[string]any{"agentTLSMode": "strict"}
	for _, layer := range []map[string]any{values, more} {
		for key, value := range layer {
			all[key] = value
		}
	}
	return s.Install(ctx, downstream, "fleet-agent", "fleet-agent", SystemNamespace, all)
}

// AwaitAgent waits until the agent's Deployment is on a cluster.
func (s *Stage) AwaitAgent(ctx context.Context, downstream *Cluster, namespace string) (*appsv1.Deployment, error) {
	var deployment *appsv1.Deployment
	err := Await(ctx, fmt.Sprintf("Deployment %s/%s on %s", namespace, agentDeployment, downstream.Name), func(ctx context.Context) (bool, string, error) {
		var err error
		deployment, err = downstream.Kube.AppsV1().Deployments(namespace).Get(ctx, agentDeployment, metav1.GetOptions{})
		return err == nil, "", err
	})
	return deployment, err
}

// StartAgent runs the agent of a cluster as a process, as its Deployment says and with the rights of its account.
func (s *Stage) StartAgent(ctx context.Context, downstream *Cluster, namespace, podName string, env ...string) (*proc.Process, error) {
	deployment, err := s.AwaitAgent(ctx, downstream, namespace)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := s.accountKubeconfig(ctx, downstream, namespace, deployment.Spec.Template.Spec.ServiceAccountName, downstream.front())
	if err != nil {
		return nil, err
	}
	env = append(podEnv(deployment, namespace, podName), env...)
	return s.start(ctx, downstream, podName, env, "agent", "--kubeconfig", kubeconfig, "--namespace", namespace)
}

// podEnv is the environment that a pod of the Deployment would have.
func podEnv(deployment *appsv1.Deployment, namespace, podName string) []string {
	template := deployment.Spec.Template
	return node.Environment(template.Spec.Containers[0], &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName}, Spec: template.Spec,
	})
}

// AwaitClusterOfClient waits for the Cluster that a client's registration made, and returns its name.
func (s *Stage) AwaitClusterOfClient(ctx context.Context, workspace, clientID string) (string, error) {
	var name string
	err := Await(ctx, "the Cluster of client "+clientID, func(ctx context.Context) (bool, string, error) {
		clusters, err := List[fleet.Cluster](ctx, s.Hub, Clusters, workspace)
		for _, c := range clusters {
			if c.Spec.ClientID == clientID {
				name = c.Name
			}
		}
		return name != "", fmt.Sprintf("%d other clusters", len(clusters)), err
	})
	return name, err
}

// StartBareAgent runs an agent in a namespace that was prepared by hand, without a Deployment to go by.
func (s *Stage) StartBareAgent(ctx context.Context, downstream *Cluster, namespace, podName string, env ...string) (*proc.Process, error) {
	kubeconfig, err := s.accountKubeconfig(ctx, downstream, namespace, agentDeployment, downstream.front())
	if err != nil {
		return nil, err
	}
	env = append([]string{"POD_NAME=" + podName, "HOSTNAME=" + podName}, env...)
	return s.start(ctx, downstream, podName, env, "agent", "--kubeconfig", kubeconfig, "--namespace", namespace)
}
