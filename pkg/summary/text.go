package summary

import (
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// What of an agent's report is kept where the reports of many are gathered, in characters and entries.
const (
	maxMessage = 512
	maxShown   = 256
	maxDetail  = 200
	maxName    = 253
	maxWord    = 64
	maxDetails = 10
	// maxReasons are the messages of one resource.
	maxReasons = 2
)

// printable is the beginning of a text of an agent's choice, in one line.
func printable(text string, limit int) string { return registration.Printable(text, limit) }

func modifiedOf(list []fleet.ModifiedStatus) []fleet.ModifiedStatus {
	kept := slices.Clone(list[:min(len(list), maxDetails)])
	for i := range kept {
		m := &kept[i]
		m.Kind, m.APIVersion = printable(m.Kind, maxWord), printable(m.APIVersion, maxName)
		m.Namespace, m.Name = printable(m.Namespace, maxWord), printable(m.Name, maxName)
		m.Patch = printable(m.Patch, maxDetail)
	}
	return kept
}

func nonReadyOf(list []fleet.NonReadyStatus) []fleet.NonReadyStatus {
	kept := slices.Clone(list[:min(len(list), maxDetails)])
	for i := range kept {
		n := &kept[i]
		if len(n.UID) > maxWord {
			n.UID = ""
		}
		n.Kind, n.APIVersion = printable(n.Kind, maxWord), printable(n.APIVersion, maxName)
		n.Namespace, n.Name = printable(n.Namespace, maxWord), printable(n.Name, maxName)
		n.Summary.State = printable(n.Summary.State, maxWord)
		reasons := slices.Clone(n.Summary.Message[:min(len(n.Summary.Message), maxReasons)])
		for j := range reasons {
			reasons[j] = printable(reasons[j], maxDetail)
		}
		n.Summary.Message = reasons
	}
	return kept
}
