package agent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/names"
)

// askingTimeout ends a question to the agent's own cluster that gets no answer.
const askingTimeout = 15 * time.Second

// awaitNamespace waits while the agent's namespace certainly does not exist, and says so once: without it there can be no
// lease, and the election would be silent for ever. Whatever else is wrong with the cluster is told by what follows. An
// error is that of a context that ended.
func awaitNamespace(ctx context.Context, client kubernetes.Interface, o Options) error {
	pauses := pace.Backoff{First: 250 * time.Millisecond, Max: 5 * time.Second, Random: rand.Float64}
	for told := false; namespaceIsMissing(ctx, client, o.Namespace); told = true {
		if !told {
			logrus.Warnf("There is no namespace %s on this cluster, and so no Secret %s/%s: waiting. Install the chart fleet-agent, or let the hub import the cluster. Is the agent in another namespace, correct --namespace",
				o.Namespace, o.Namespace, names.AgentBootstrapSecret)
		}
		if err := pace.Sleep(ctx, o.Clock, pauses.Next()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func namespaceIsMissing(ctx context.Context, client kubernetes.Interface, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, askingTimeout)
	defer cancel()
	_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}
