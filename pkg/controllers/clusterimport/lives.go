package clusterimport

import (
	"errors"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// livesOf is how long what the kubeconfig secret holds is good, and the hub's CA. Nil says that it cannot be told: without
// a secret what was known stays, since it may be made anew at this moment.
func livesOf(f facts) *registration.Lives {
	if f.secret == nil || registration.IsSkipped(f.cluster) {
		return nil
	}
	lives := kube.LivesOf(f.cluster, f.secret, f.config.APIServerCA, f.now)
	return &lives
}

// showLives brings the ends in a status in line. The heartbeats' controller writes the rest of status.credential.
func showLives(status *fleet.ClusterStatus, f facts) {
	switch {
	case f.lives != nil:
		f.lives.Show(status)
	case f.cluster.Spec.KubeConfigSecret == "":
		forgetKubeconfig(status)
	}
}

// forgetKubeconfig is for a cluster that names no kubeconfig secret any more. The end of the hub's CA is then shown by the
// heartbeats' controller.
func forgetKubeconfig(status *fleet.ClusterStatus) {
	if status.Credential != nil {
		status.Credential.KubeconfigExpires, status.Credential.KubeconfigCAExpires = nil, nil
	}
}

// withoutKubeconfig says that a Cluster of ours names no secret and still shows the ends of one.
func withoutKubeconfig(c *fleet.Cluster) bool {
	shown := c.Status.Credential
	return c.Spec.KubeConfigSecret == "" && !registration.IsSkipped(c) &&
		shown != nil && (shown.KubeconfigExpires != nil || shown.KubeconfigCAExpires != nil)
}

// reportLives is for a cluster that nothing else is to be said of. Before its first import it waits for the write of that.
func (h *handler) reportLives(f facts) error {
	if withoutKubeconfig(f.cluster) {
		_, err := kube.UpdateStatus(h.Clusters, f.cluster.Namespace, f.cluster.Name, kube.ClusterStatus, forgetKubeconfig)
		return err
	}
	if f.lives == nil || !f.imported && f.record.Time.IsZero() {
		return nil
	}
	_, err := kube.UpdateStatus(h.Clusters, f.cluster.Namespace, f.cluster.Name, kube.ClusterStatus, f.lives.Show)
	return err
}

// livesChange is how long it is until another certificate of a bundle is the first to end, zero for never.
func livesChange(f facts) time.Duration {
	if f.lives == nil {
		return 0
	}
	var next time.Duration
	for _, life := range []registration.Life{f.lives.HubCA, f.lives.KubeconfigCA} {
		if wait := life.Until.Sub(f.now) + time.Second; life.Others && wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next
}

// endedIn says what of the kubeconfig has ended, as the likely cause of an error of the cluster's.
func endedIn(f facts, err error) string {
	var known *trouble
	if f.lives == nil || errors.As(err, &known) {
		return ""
	}
	return f.lives.Ended(f.now)
}
