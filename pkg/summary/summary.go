package summary

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// MaxEntries is how many of those that are not ready a summary names.
	MaxEntries = 10
	// MaxSize bounds a summary, in bytes of JSON.
	MaxSize = 128 << 10
	// examples are how many resources of each sort the text of a condition names.
	examples = 4
)

// Entry is one of those that a summary counts: a deployment, or a bundle.
type Entry struct {
	Name    string
	State   fleet.BundleState
	Message string
	// Modified and NonReady are its resources that differ, and those that are not ready.
	Modified []fleet.ModifiedStatus
	NonReady []fleet.NonReadyStatus
}

// EntryOf is a deployment under a name, as seen by who wants the version with that ID.
func EntryOf(name string, bd *fleet.BundleDeployment, want string) Entry {
	entry := Entry{Name: name, State: StateFor(bd, want), Message: MessageFor(bd, want)}
	if bd != nil {
		entry.Modified, entry.NonReady = bd.Status.ModifiedStatus, bd.Status.NonReadyStatus
	}
	return entry
}

// Add counts one more. Those that are not ready are named, the first MaxEntries of them; a state that has no example yet
// takes the place of a second one.
func Add(s *fleet.BundleSummary, entry Entry) {
	s.DesiredReady++
	if count := counter(s, entry.State); count != nil {
		*count++
	}
	if entry.State != fleet.Ready {
		addExample(s, fleet.NonReadyResource{
			Name: entry.Name, State: entry.State, Message: entry.Message,
			ModifiedStatus: entry.Modified, NonReadyStatus: entry.NonReady,
		})
	}
}

// Merge counts all that another summary counts. That may be what an agent wrote, who may write its cluster's status: it is
// believed no further than what an agent says of one deployment.
func Merge(s *fleet.BundleSummary, other fleet.BundleSummary) {
	addCount(&s.DesiredReady, other.DesiredReady)
	for _, state := range states {
		addCount(counter(s, state), *counter(&other, state))
	}
	for _, example := range other.NonReadyResources[:min(len(other.NonReadyResources), MaxEntries)] {
		if counter(s, example.State) != nil {
			addExample(s, example)
		}
	}
}

// states are all that a summary counts.
var states = []fleet.BundleState{
	fleet.ErrApplied, fleet.WaitApplied, fleet.Modified, fleet.OutOfSync, fleet.Pending, fleet.NotReady, fleet.Ready,
}

// counter is the count of a state, nil for a word that is none.
func counter(s *fleet.BundleSummary, state fleet.BundleState) *int {
	switch state {
	case fleet.ErrApplied:
		return &s.ErrApplied
	case fleet.WaitApplied:
		return &s.WaitApplied
	case fleet.Modified:
		return &s.Modified
	case fleet.OutOfSync:
		return &s.OutOfSync
	case fleet.Pending:
		return &s.Pending
	case fleet.NotReady:
		return &s.NotReady
	case fleet.Ready:
		return &s.Ready
	default:
		return nil
	}
}

func addExample(s *fleet.BundleSummary, example fleet.NonReadyResource) {
	if len(s.NonReadyResources) < MaxEntries {
		s.NonReadyResources = append(s.NonReadyResources, cut(example))
		return
	}
	seen := map[fleet.BundleState]int{}
	for _, have := range s.NonReadyResources {
		seen[have.State]++
	}
	if seen[example.State] > 0 {
		return
	}
	for i := len(s.NonReadyResources) - 1; i >= 0; i-- {
		if seen[s.NonReadyResources[i].State] > 1 {
			s.NonReadyResources = slices.Delete(s.NonReadyResources, i, i+1)
			s.NonReadyResources = append(s.NonReadyResources, cut(example))
			return
		}
	}
}

// cut keeps of an example what fits into a summary. Only those that are kept are cut: of a thousand clusters that is a few.
func cut(example fleet.NonReadyResource) fleet.NonReadyResource {
	example.Name, example.Message = printable(example.Name, 2*maxName), printable(example.Message, maxMessage)
	example.ModifiedStatus, example.NonReadyStatus = modifiedOf(example.ModifiedStatus), nonReadyOf(example.NonReadyStatus)
	return example
}

// WorstOf is the worst state that a summary counts, empty where all are Ready.
func WorstOf(s fleet.BundleSummary) fleet.BundleState {
	var have []fleet.BundleState
	for _, state := range states {
		if *counter(&s, state) > 0 {
			have = append(have, state)
		}
	}
	return Worst(have...)
}

// ReadyCondition says whether all are ready, and else who is not and why. word is what the entries are: Cluster, or Bundle.
func ReadyCondition(s fleet.BundleSummary, word string) (ready bool, text string) {
	var parts []string
	for _, state := range states {
		count := *counter(&s, state)
		if count == 0 || state == fleet.Ready {
			continue
		}
		i := slices.IndexFunc(s.NonReadyResources, func(r fleet.NonReadyResource) bool { return r.State == state })
		if i < 0 {
			parts = append(parts, fmt.Sprintf("%s(%d)", state, count))
			continue
		}
		parts = append(parts, exampleText(s.NonReadyResources[i], count, word)...)
	}
	slices.Sort(parts)
	return len(parts) == 0, strings.Join(parts, "; ")
}

func exampleText(r fleet.NonReadyResource, count int, word string) []string {
	text := fmt.Sprintf("%s(%d) [%s %s", r.State, count, word, r.Name)
	if r.Message != "" {
		text += ": " + r.Message
	}
	parts := []string{text + "]"}
	for _, m := range r.ModifiedStatus[:min(len(r.ModifiedStatus), examples)] {
		parts = append(parts, m.String())
	}
	for _, n := range r.NonReadyStatus[:min(len(r.NonReadyStatus), examples)] {
		parts = append(parts, n.String())
	}
	return parts
}

// Bound makes a summary fit into MaxSize: details go until it does. Characters that JSON writes as six can make it larger
// than its length says; names and messages alone fit in any case.
func Bound(s *fleet.BundleSummary) {
	for i := len(s.NonReadyResources) - 1; i >= 0 && size(s) > MaxSize; i-- {
		s.NonReadyResources[i].ModifiedStatus, s.NonReadyResources[i].NonReadyStatus = nil, nil
	}
}

func size(s *fleet.BundleSummary) int {
	encoded, err := json.Marshal(s)
	if err != nil {
		return 0
	}
	return len(encoded)
}
