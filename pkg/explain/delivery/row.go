package delivery

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// Row is a bundle in a list, as its status has it.
type Row struct {
	Workspace     string      `json:"workspace"`
	Name          string      `json:"name"`
	State         string      `json:"state"`
	ReadyClusters string      `json:"readyClusters"`
	Unavailable   int         `json:"unavailable,omitempty"`
	Paused        bool        `json:"paused,omitempty"`
	Created       metav1.Time `json:"created"`
	Message       string      `json:"message,omitempty"`
}

// SortRows sorts by workspace and name.
func SortRows(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Name, b.Name))
	})
}

// RowOf is the row of a bundle.
func RowOf(b *fleet.Bundle) Row {
	row := Row{
		Workspace: b.Namespace, Name: b.Name, Paused: b.Spec.Paused, Created: b.CreationTimestamp, Unavailable: b.Status.Unavailable,
		State:         cmp.Or(b.Status.Display.State, string(fleet.Ready)),
		ReadyClusters: cmp.Or(b.Status.Display.ReadyClusters, fmt.Sprintf("%d/%d", b.Status.Summary.Ready, b.Status.Summary.DesiredReady)),
	}
	ready := conditions.GetCondition(b.Status.Conditions, fleet.BundleConditionReady)
	switch {
	case ready != nil && ready.Reason != "":
		row.State, row.Message = ready.Reason, ready.Message
	case ready != nil:
		row.Message = ready.Message
	}
	switch {
	case b.DeletionTimestamp != nil:
		row.State = "Leaving"
	case b.Status.ObservedGeneration < b.Generation:
		row.Message = "the hub has not looked at it since it was changed"
		if b.Status.ObservedGeneration == 0 {
			row.State = "New"
		}
	}
	return row
}
