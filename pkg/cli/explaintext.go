package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/registration"
)

// shownRequests is how many requests the text has; all are in JSON and YAML.
const shownRequests = 5

// joinedBy are the ways of joining in words.
var joinedBy = map[string]string{
	registration.JoinedByManager: "joins by the hub's import",
	registration.JoinedByAgent:   "joins by its agent",
	registration.JoinedLocally:   "is the hub itself",
}

// printExplanation tells for people. All texts of others come in a form that may be shown.
func printExplanation(out io.Writer, e explain.Explanation, now time.Time) error {
	text := &explainText{out: out, now: now}
	text.head(e)
	text.steps(e.Steps)
	text.identity(e.Identity)
	text.expiries(e.Expiries)
	text.requests(e.Requests)
	text.troubles(e)
	text.unknown(e.Unknown)
	return text.err
}

type explainText struct {
	out io.Writer
	now time.Time
	err error
}

func (t *explainText) line(format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, format+"\n", args...); err != nil && t.err == nil {
		t.err = err
	}
}

// wrapped is a text of several lines: first stands before its first one, and rest before the others.
func (t *explainText) wrapped(first, rest, text string) {
	for i, line := range wrap(text, widthLine-len(first)) {
		if i == 0 {
			t.line("%s%s", first, line)
		} else {
			t.line("%s%s", rest, line)
		}
	}
}

func (t *explainText) head(e explain.Explanation) {
	if e.Exists {
		t.line("Cluster %s/%s: %s, %s", e.Workspace, e.Name, e.State, joinedBy[e.JoinedBy])
	} else {
		t.line("%s/%s has no Cluster yet: %s, %s", e.Workspace, e.Name, e.State, joinedBy[e.JoinedBy])
	}
	if e.WaitsFor != "" {
		t.wrapped("Waits for: ", "  ", brief(e.WaitsFor))
	}
	t.wrapped("Next: ", "  ", brief(e.Next))
	t.line("")
}

func (t *explainText) steps(steps []explain.Step) {
	t.table(func(table io.Writer) {
		fmt.Fprintln(table, "STEP\tSTATE\tSINCE\tAGE\tDETAIL")
		for _, s := range steps {
			detail := wrap(brief(orDash(reasoned(s.Reason, s.Detail))), widthDetail)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Step, s.State, clock(s.Since), ago(s.Since, t.now), detail[0])
			for _, line := range detail[1:] {
				fmt.Fprintf(table, "\t\t\t\t%s\n", line)
			}
		}
	})
}

func (t *explainText) table(rows func(io.Writer)) {
	if err := columns(t.out, rows); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *explainText) identity(id *explain.Identity) {
	if id == nil {
		return
	}
	t.line("\nIdentity")
	t.table(func(table io.Writer) {
		if id.PinnedKey != "" {
			fmt.Fprintf(table, "  bound to\tkey %s of cluster %s\n", id.PinnedKey, orDash(id.PinnedCluster))
		} else {
			fmt.Fprintf(table, "  bound to\tno key\n")
		}
		if id.Instance != "" {
			fmt.Fprintf(table, "  heartbeats\tof pod %s\n  \tkey %s, token %s\n", id.Instance, orDash(id.Key), id.Token)
		}
		if id.Note != "" {
			for i, line := range wrap(id.Note, widthLine) {
				fmt.Fprintf(table, "  %s\t%s\n", []string{"note", ""}[min(i, 1)], line)
			}
		}
	})
}

func (t *explainText) expiries(list []explain.Expiry) {
	if len(list) == 0 {
		return
	}
	t.line("\nWhat ends some day")
	t.table(func(table io.Writer) {
		for _, x := range list {
			fmt.Fprintf(table, "  %s\t%s\n", x.What, t.end(x))
			for _, more := range []string{x.Note, x.Fingerprint} {
				if more != "" {
					fmt.Fprintf(table, "  \t%s\n", more)
				}
			}
		}
	})
}

func (t *explainText) end(x explain.Expiry) string {
	switch {
	case x.Endless:
		return "has no end"
	case x.Expires == nil:
		return "no end is known"
	case !x.Expires.After(t.now):
		return fmt.Sprintf("ended %s, %s ago", clock(x.Expires), duration.HumanDuration(t.now.Sub(x.Expires.Time)))
	}
	text := fmt.Sprintf("ends %s, in %s", clock(x.Expires), ahead(x.Expires.Sub(t.now)))
	if x.Renewal != nil {
		text += ", renewed from " + clock(x.Renewal) + " on"
	}
	return text
}

func (t *explainText) requests(list []explain.Request) {
	if len(list) == 0 {
		return
	}
	t.line("\nRequests that are not granted")
	for i, r := range list {
		if i == shownRequests {
			t.line("  and %d more", len(list)-i)
			return
		}
		t.line("  %s, %s old", r.Name, ago(r.Created, t.now))
		t.wrapped("    ", "    ", brief(reasoned(r.Reason, r.Message)))
		t.wrapped("    ", "    ", claims(r))
		t.wrapped("    ended by: ", "    ", r.EndedBy)
		for _, command := range r.Commands {
			t.line("    $ %s", command)
		}
	}
}

// claims is what a request says of who sent it.
func claims(r explain.Request) string {
	said := []string{"client " + r.ClientID, "key " + orDash(r.KeyFingerprint), "cluster UID " + orDash(r.ClusterUID)}
	if r.Token != "" {
		said = append(said, "token "+r.Token)
	}
	if r.Requester != "" {
		said = append(said, "sent by "+r.Requester)
	}
	return strings.Join(said, ", ")
}

// troubles tells what the steps and the requests have not told already.
func (t *explainText) troubles(e explain.Explanation) {
	tell := func(who string, trouble *explain.Trouble) {
		if trouble != nil && !told(e, trouble.Message) {
			t.line("\nLast error of the %s, %s ago, from %s:", who, ago(trouble.Time, t.now), trouble.From)
			t.wrapped("  ", "  ", brief(reasoned(trouble.Reason, trouble.Message)))
		}
	}
	tell("hub", e.HubError)
	tell("agent", e.AgentError)
	warnings := slices.DeleteFunc(slices.Clone(e.Warnings), func(w explain.EventLine) bool { return told(e, w.Message) })
	if len(warnings) == 0 {
		return
	}
	t.line("\nWarnings of the hub")
	for _, w := range warnings {
		over := ""
		if w.Over {
			over = " (over)"
		}
		t.line("  %s   %s%s", clock(&w.Time), w.About, over)
		t.wrapped("    ", "    ", brief(reasoned(w.Reason, w.Message)))
	}
}

// told says whether a message only repeats what a step or a request that is shown says. An Event of a condition has its
// message behind a few words of its own.
func told(e explain.Explanation, message string) bool {
	_, told, ofCondition := strings.Cut(message, "=False: ")
	for _, s := range e.Steps {
		if s.State == explain.Done || s.Detail == "" {
			continue
		}
		// A step may have more to say than its condition.
		if strings.HasSuffix(message, s.Detail) || ofCondition && told != "" && strings.HasPrefix(s.Detail, told) {
			return true
		}
	}
	for _, r := range e.Requests[:min(len(e.Requests), shownRequests)] {
		if r.Message != "" && strings.HasSuffix(message, r.Message) {
			return true
		}
	}
	return false
}

func (t *explainText) unknown(list []string) {
	if len(list) == 0 {
		return
	}
	t.line("\nUnknown")
	for _, u := range list {
		t.line("  %s", u)
	}
}

func reasoned(reason, message string) string {
	switch {
	case reason == "":
		return message
	case message == "":
		return reason
	}
	return reason + ": " + message
}

func clock(at *metav1.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}
