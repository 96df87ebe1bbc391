package hub

import (
	"context"
	"encoding/json"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Lease reads the Lease that an agent renews.
func (c *Client) Lease(ctx context.Context, deploymentNamespace string) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return c.kube.CoordinationV1().Leases(deploymentNamespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
}

// Renew writes the Lease as it was read, with another spec.
func (c *Client) Renew(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return c.kube.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
}

// Report writes status.agent of the Cluster and nothing else of it. A JSON patch cannot add to a status that is not
// there, and the agent may not look; the server says so with 422, and then a merge patch makes the status with that one
// field in it. The answer is the Cluster: leaving says that it is being deleted.
func (c *Client) Report(ctx context.Context, workspace, cluster string, status fleet.AgentStatus) (leaving bool, err error) {
	add, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status/agent", "value": status}})
	if err != nil {
		return false, fmt.Errorf("encoding status.agent: %w", err)
	}
	leaving, err = c.patchStatus(ctx, workspace, cluster, types.JSONPatchType, add)
	if !apierrors.IsInvalid(err) {
		return leaving, err
	}
	merge, mergeErr := json.Marshal(map[string]any{"status": map[string]any{"agent": status}})
	if mergeErr != nil {
		return false, fmt.Errorf("encoding status.agent: %w", mergeErr)
	}
	return c.patchStatus(ctx, workspace, cluster, types.MergePatchType, merge)
}

func (c *Client) patchStatus(ctx context.Context, workspace, cluster string, kind types.PatchType, patch []byte) (leaving bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	now, err := c.fleet.Resource(clusters).Namespace(workspace).Patch(ctx, cluster, kind, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return false, err
	}
	return now.GetDeletionTimestamp() != nil, nil
}
