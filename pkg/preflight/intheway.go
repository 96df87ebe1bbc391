package preflight

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/names"
)

// By these Helm knows the objects that it made; an installation fails at one that lacks them.
const (
	helmManagedBy        = "app.kubernetes.io/managed-by"
	helmReleaseName      = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"
)

// chartObject is an object that the chart fleet-agent makes.
type chartObject struct {
	kind, name string
	get        func(ctx context.Context, name string, o metav1.GetOptions) (metav1.Object, error)
}

// chartObjects are those of the chart in a namespace. The bootstrap Secret may be somebody else's.
func (c *caller) chartObjects(namespace string, withSecret bool) []chartObject {
	objects := []chartObject{
		{"ServiceAccount", names.AgentAccount, getter(c.clients.CoreV1().ServiceAccounts(namespace).Get)},
		{"ClusterRole", names.AgentRole(namespace), getter(c.clients.RbacV1().ClusterRoles().Get)},
		{"ClusterRoleBinding", names.AgentRoleBinding(namespace), getter(c.clients.RbacV1().ClusterRoleBindings().Get)},
		{"NetworkPolicy", names.AgentNetworkPolicy, getter(c.clients.NetworkingV1().NetworkPolicies(namespace).Get)},
		{"ConfigMap", names.AgentConfigMap, getter(c.clients.CoreV1().ConfigMaps(namespace).Get)},
		{"Deployment", names.AgentDeployment, getter(c.clients.AppsV1().Deployments(namespace).Get)},
	}
	if withSecret {
		objects = append(objects, chartObject{"Secret", names.AgentBootstrapSecret, getter(c.clients.CoreV1().Secrets(namespace).Get)})
	}
	return objects
}

func getter[T metav1.Object](get func(context.Context, string, metav1.GetOptions) (T, error)) func(context.Context, string, metav1.GetOptions) (metav1.Object, error) {
	return func(ctx context.Context, name string, o metav1.GetOptions) (metav1.Object, error) {
		return get(ctx, name, o)
	}
}

// inTheWay are the objects, as kind and name, that Helm would have to take over from somebody else. Whoever may not look at
// a kind is told so by the check of the rights.
func (c *caller) inTheWay(ctx context.Context, namespace string, withSecret bool) ([]string, error) {
	var out []string
	for _, object := range c.chartObjects(namespace, withSecret) {
		found, err := ask(ctx, c, func(ctx context.Context) (metav1.Object, error) {
			return object.get(ctx, object.name, metav1.GetOptions{})
		})
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		case err != nil:
			return nil, err
		case !ofTheRelease(found, namespace):
			out = append(out, object.kind+" "+object.name)
		}
	}
	return out, nil
}

// ofTheRelease says whether an object belongs to a release in the namespace: the chart refuses to be called anything but
// its name there.
func ofTheRelease(object metav1.Object, namespace string) bool {
	annotations := object.GetAnnotations()
	return object.GetLabels()[helmManagedBy] == "Helm" &&
		annotations[helmReleaseName] != "" && annotations[helmReleaseNamespace] == namespace
}

// decideInTheWay judges what is there already of what the chart makes.
func decideInTheWay(found []string, err error) finding {
	switch {
	case err != nil:
		return doubt("it could not be looked for what is in the way of the chart: "+word(timedOut(err).Error()), "Try again.")
	case len(found) > 0:
		return failure("helm install would fail, since Helm did not make what is there: "+strings.Join(found, ", ")+"; a hub's import leaves such objects",
			"Remove these objects first, as docs/operations.md says (The agent on the cluster). Keep Secret "+names.AgentIdentitySecret+" if the cluster is to keep its key.")
	}
	return fine("nothing is in the way of the chart")
}
