package preflight

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/registration"
)

var clusterWords = wording{
	address:    "the kubeconfig of the cluster that is to join",
	ca:         "the kubeconfig of the cluster that is to join",
	proxy:      "the kubeconfig of the cluster that is to join",
	proxyUser:  "kubectl",
	credential: "the kubeconfig of the cluster that is to join",
	renew:      "Put a credential that this API server knows into the kubeconfig of the cluster that is to join.",
}

// checkCluster looks at the cluster that the chart fleet-agent is to be installed on, with the account of whoever installs.
func checkCluster(ctx context.Context, l *ledger, b registration.Bootstrap, more agentValues, o Options) {
	if o.Other == nil {
		l.record(CheckCluster, skip("not looked at: give --kubeconfig or --context of the cluster that is to join"))
		return
	}
	namespace := cmp.Or(o.AgentNamespace, b.SystemNamespace, o.SystemNamespace)
	l.hide(secretsOf(o.Other)...)
	c, err := newCaller(o.Other, o.StepLimit)
	if err != nil {
		l.record(CheckCluster, failure("the kubeconfig of the cluster cannot be used: "+err.Error(), "Give one that kubectl can use."))
		return
	}
	defer c.close()
	v := &traveller{client: c.http, limit: o.StepLimit, now: o.Now}
	t := v.get(ctx, c.base.JoinPath("version"))
	answered, asked := []string{CheckClusterAnswer}, []string{CheckClusterAuthentication}
	l.record(CheckClusterAnswer, decideClusterAnswer(t))
	l.after(CheckClusterAuthentication, answered, func() finding {
		user, err := c.whoAmI(ctx)
		return decideIdentity(user, err, kindOfCredential(o.Other), clusterWords)
	})
	exists := false
	l.after(CheckClusterNamespace, asked, func() (f finding) {
		ns, err := c.namespace(ctx, namespace)
		exists = ns != nil
		return decideNamespace(namespace, ns, err)
	})
	l.after(CheckClusterPermissions, asked, func() finding {
		if more.restricted() {
			return decideRestrictedInstaller(c.restrictedInstaller(ctx, namespace, chartNeeds(namespace, !exists), more.given(namespace)), clusterWords.credential)
		}
		return decideInstaller(c.installer(ctx, chartNeeds(namespace, !exists)), clusterWords.credential, "install the chart fleet-agent")
	})
	l.after(CheckClusterVersion, answered, func() finding { return decideVersion(t.body) })
	l.after(CheckClusterAgent, asked, func() finding {
		found, err := c.residents(ctx, namespace)
		return decideAgents(found, err, thisHub{address: b.APIServerURL}, joiner{
			uid: c.systemUID(ctx), sameServer: sameAddress(o.Other.Host, b.APIServerURL), chart: true,
		})
	})
	l.after(CheckClusterObjects, asked, func() finding { return decideInTheWay(c.inTheWay(ctx, namespace, more.ExistingSecret == "")) })
}

func decideClusterAnswer(t trip) finding {
	if t.err == nil {
		return decideAnswer(t, clusterWords)
	}
	if isTimeout(t.err) {
		return failure("the cluster gave no answer", "Give a kubeconfig with which kubectl get nodes works from here.")
	}
	return failure("the cluster cannot be asked: "+word(netText(t.err)), "Give a kubeconfig with which kubectl get nodes works from here.")
}

// systemUID is the UID of the cluster's namespace kube-system, empty where it is not told.
func (c *caller) systemUID(ctx context.Context) string {
	ns, err := c.namespace(ctx, metav1.NamespaceSystem)
	if err != nil {
		return ""
	}
	return string(ns.UID)
}

func (c *caller) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	ns, err := c.clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return ns, nil
}

// decideNamespace judges the namespace that the agent is to be in.
func decideNamespace(name string, ns *corev1.Namespace, err error) finding {
	switch {
	case apierrors.IsNotFound(err):
		return fine("namespace " + word(name) + " does not exist; helm makes it with --create-namespace")
	case apierrors.IsForbidden(err):
		return skip("the account may not read namespace " + word(name))
	case err != nil:
		return doubt("namespace "+word(name)+" could not be read: "+word(timedOut(err).Error()), "Look at it with kubectl get namespace.")
	case ns.DeletionTimestamp != nil:
		return failure("namespace "+word(name)+" is being deleted", "Wait until it is gone, or look at what keeps it.")
	}
	return fine("namespace " + word(name) + " exists")
}
