package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// livingTokens are the tokens by which agents of a cluster have come, as far as their requests are still there, and which can
// still be used: a client ID is a claim, so that with one of them the cluster can come as another one. Who may not read them
// is told so.
func (h *hub) livingTokens(c *cli.Context, cluster *fleet.Cluster) []string {
	came := map[string]bool{}
	err := each(c.Context, h, kindRequest, cluster.Namespace, metav1.ListOptions{}, func(r *fleet.ClusterRegistration) error {
		if explain.Concerns(r, cluster, cluster.Name, nil) {
			came[r.Labels[names.RegistrationTokenLabel]] = true
		}
		return nil
	})
	living := map[string]bool{}
	err = errors.Join(err, each(c.Context, h, kindToken, cluster.Namespace, metav1.ListOptions{}, func(t *fleet.ClusterRegistrationToken) error {
		state := newTokenRow(t, time.Now()).State
		if came[t.Name] && !isFor(t, cluster) && state != tokenEnded && state != tokenLeaving {
			living[t.Name] = true
		}
		return nil
	}))
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "Whether a registration token lives by which cluster %s could come back is not known: %v\n", cluster.Name, err)
	}
	return slices.Sorted(maps.Keys(living))
}

// isFor says that a token registers this Cluster and no other. While that one is revoked, it registers none.
func isFor(t *fleet.ClusterRegistrationToken, cluster *fleet.Cluster) bool {
	imports, _ := registration.MadeForCluster(t)
	client := cluster.Spec.ClientID
	return imports == cluster.Name || t.Spec.ClusterName == cluster.Name || client != "" && slices.Equal(t.Spec.ClientIDs, []string{client})
}
