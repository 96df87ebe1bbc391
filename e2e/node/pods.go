package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// schedule gives a Pod this node, or says why not.
func (n *Node) schedule(ctx context.Context, pod *corev1.Pod) error {
	if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(labelsOf(n.cfg.Name))) {
		return n.writeStatus(ctx, pod, func(status *corev1.PodStatus) {
			setCondition(status, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
			})
		})
	}
	err := n.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: n.cfg.Name},
	}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or bound already and not seen yet: the watch tells
	}
	if err != nil {
		return fmt.Errorf("binding to node %s: %w", n.cfg.Name, err)
	}
	return nil
}

// report writes what the Pod's status should be.
func (n *Node) report(ctx context.Context, pod *corev1.Pod) error {
	v := viewOf(pod)
	if isAgent(pod) && v.waiting == "" {
		held, why := v.held, v.why
		if v = n.agentOf(pod).view(); held {
			v.ready, v.why = false, why
		}
	}
	return n.writeStatus(ctx, pod, func(status *corev1.PodStatus) { n.fill(pod, status, v) })
}

// end lets go of a deleted Pod once its process has ended.
func (n *Node) end(ctx context.Context, pod *corev1.Pod) error {
	if agent := n.takeAgent(pod.UID); agent != nil {
		if err := agent.stop(stopGraceOf(pod)); err != nil {
			n.cfg.Complain("node %s: Pod %s/%s: %v", n.cfg.Name, pod.Namespace, pod.Name, err)
		}
	}
	err := n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// podGone ends the process of a Pod that went without waiting for it.
func (n *Node) podGone(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	agent := n.takeAgent(pod.UID)
	if agent == nil {
		return
	}
	n.done.Go(func() {
		if err := agent.stop(stopGraceOf(pod)); err != nil {
			n.cfg.Complain("node %s: Pod %s/%s: %v", n.cfg.Name, pod.Namespace, pod.Name, err)
		}
	})
}

// writeStatus changes a Pod's status if there is something to change.
func (n *Node) writeStatus(ctx context.Context, pod *corev1.Pod, change func(*corev1.PodStatus)) error {
	changed := pod.DeepCopy()
	change(&changed.Status)
	if equality.Semantic.DeepEqual(pod.Status, changed.Status) {
		return nil
	}
	if _, err := n.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}
