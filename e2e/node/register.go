package node

import (
	"context"
	"fmt"
	"runtime"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

const (
	leaseNamespace = "kube-node-lease"
	// beatEvery and leaseSeconds are a kubelet's; without the beat the controller manager would evict all Pods.
	beatEvery    = 10 * time.Second
	leaseSeconds = 40
)

// register makes the Node and says that it is Ready.
func (n *Node) register(ctx context.Context) error {
	nodes := n.client.CoreV1().Nodes()
	node, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.cfg.Name, Labels: labelsOf(n.cfg.Name)}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = nodes.Get(ctx, n.cfg.Name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", n.cfg.Name, err)
	}
	status := nodeStatus()
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write to it at once
		node.Status = status
		_, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			if fresh, getErr := nodes.Get(ctx, n.cfg.Name, metav1.GetOptions{}); getErr == nil {
				node = fresh
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("status of node %s: %w", n.cfg.Name, err)
	}
	return n.renew(ctx)
}

func nodeStatus() corev1.NodeStatus {
	now := metav1.Now()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("1000"), corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	return corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: runtime.GOARCH, KubeletVersion: "stand-in"},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "StandIn", Message: "a stand-in for a node",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}
}

func labelsOf(name string) map[string]string {
	return map[string]string{
		corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, corev1.LabelHostname: name,
	}
}

// beat renews the node's Lease until ctx ends.
func (n *Node) beat(ctx context.Context) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := n.renew(ctx); err != nil && ctx.Err() == nil {
				n.cfg.Complain("node %s: %v", n.cfg.Name, err)
			}
		}
	}
}

func (n *Node) renew(ctx context.Context) error {
	leases := n.client.CoordinationV1().Leases(leaseNamespace)
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To(n.cfg.Name), LeaseDurationSeconds: ptr.To[int32](leaseSeconds), RenewTime: ptr.To(metav1.NowMicro()),
	}
	lease, err := leases.Get(ctx, n.cfg.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.cfg.Name}, Spec: spec}, metav1.CreateOptions{})
	} else if err == nil {
		lease.Spec = spec
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("lease of node %s: %w", n.cfg.Name, err)
	}
	return nil
}
