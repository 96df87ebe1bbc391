package telemetry

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// stated is a reason of a condition that docs/registration.md has.
type stated struct {
	kind, condition, reason string
	status                  corev1.ConditionStatus
}

var (
	conditionCell = regexp.MustCompile("^\\| (?:`(\\w+)`)? ?\\| (True|False) `(\\w+)` \\|")
	reasonCell    = regexp.MustCompile("^\\| `(\\w+)` \\|")
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + name)
	require.NoError(t, err)
	return string(text)
}

// statedReasons reads "Conditions and reasons" of docs/registration.md.
func statedReasons(t *testing.T) (out []stated) {
	t.Helper()
	_, text, found := strings.Cut(page(t, "registration.md"), "## Conditions and reasons\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	for _, section := range strings.Split(text, "\n### ")[1:] {
		kind, table, _ := strings.Cut(section, "\n")
		condition := ""
		for _, line := range strings.Split(table, "\n") {
			if cells := conditionCell.FindStringSubmatch(line); cells != nil {
				if cells[1] != "" {
					condition = cells[1]
				}
				out = append(out, stated{kind, condition, cells[3], corev1.ConditionStatus(cells[2])})
			} else if cells := reasonCell.FindStringSubmatch(line); cells != nil && kind == tokenKind {
				out = append(out, stated{kind, fleet.TokenConditionReady, cells[1], corev1.ConditionFalse})
			} else if cells := regexp.MustCompile("^\\| `(\\w+)` \\| True \\|").FindStringSubmatch(line); cells != nil {
				condition = cells[1]
			}
		}
	}
	return out
}

// news is what becomes of an object on which a reason appears.
func (s stated) news() []announcement {
	c := condition(s.condition, s.status, s.reason)
	switch s.kind {
	case clusterKind:
		return clusterNews(nil, cluster("c", c))
	case requestKind:
		return requestNews(nil, request("r", c))
	}
	return tokenNews(nil, token("t", c), began)
}

// A reason that is new in docs/registration.md has to be put into one of the lists of reasons.go, and into docs/events.md.
func TestEveryReasonOfAConditionIsKnownAndDocumented(t *testing.T) {
	all := statedReasons(t)
	require.Greater(t, len(all), 50, "the tables of docs/registration.md were not found")
	told := map[string][]string{}
	var order []string
	for _, s := range all {
		for _, a := range s.news() {
			assert.NotEqual(t, other, a.count.label, "%v is not in the lists of reasons.go", s)
			if a.event.reason != s.reason || a.event.about.kind != s.kind || a.event.eventType != corev1.EventTypeWarning {
				continue
			}
			key := fmt.Sprintf("| `%s` | `%s` |", s.kind, s.condition)
			if !slices.Contains(order, key) {
				order = append(order, key)
			}
			told[key] = append(told[key], "`"+s.reason+"`")
		}
		if s.kind == requestKind && s.condition == fleet.RegistrationConditionGranted && s.status == corev1.ConditionFalse {
			assert.NotEqual(t, other, reasonLabel(grantOf(request("r", condition(s.condition, s.status, s.reason)))), s.reason)
		}
	}
	var want []string
	for _, key := range order {
		slices.Sort(told[key])
		want = append(want, key+" "+strings.Join(told[key], " ")+" |")
	}
	assert.ElementsMatch(t, want, table(t, "events:conditions"))
}

func TestEveryOtherEventIsDocumented(t *testing.T) {
	const connected = fleet.ClusterConditionAgentConnected
	expired := token("t")
	expired.Status.Expires = &metav1.Time{Time: began}
	var all []announcement
	all = append(all, requestNews(nil, request("r", isTrue(granted, "Granted")))...)
	all = append(all, requestNews(nil, request("r", isFalse(granted, "IdentityConflict")))...)
	all = append(all, clusterNews(cluster("c", isFalse(connected, "Silent")), registered(cluster("c", isTrue(connected, "Heartbeat"))))...)
	all = append(all, tokenNews(expired, nil, began.Add(time.Second))...)
	const accepted = fleet.TokenConditionRequestsAccepted
	all = append(all, tokenNews(token("t", isFalse(accepted, "TooManyRequests")), token("t", isTrue(accepted, "")), began)...)
	for decision := range decisions {
		all = append(all, told(approvalNews(decided(nil), decided(approval(decision, "jane", "", began))))...)
	}
	var want []string
	for _, a := range all {
		if a.event.reason != "" && !strings.Contains(a.event.message, "=") {
			want = append(want, fmt.Sprintf("| `%s` | %s | `%s` |", a.event.about.kind, a.event.eventType, a.event.reason))
		}
	}
	var have []string
	for _, line := range table(t, "events:others") {
		have = append(have, strings.Join(strings.SplitAfterN(line, "|", 5)[:4], ""))
	}
	assert.ElementsMatch(t, want, have)
}

// What a page promises of decisions is what the ledger keeps.
func TestTheBoundsOfDecisionsAreDocumented(t *testing.T) {
	text := strings.Join(strings.Fields(page(t, "events.md")), " ")
	assert.Contains(t, text, fmt.Sprintf("%d a second after a burst of %d, and tried again", ledgerRate, ledgerBurst))
	assert.Contains(t, text, fmt.Sprintf("At most %d wait to be written", maxWaiting))
	told := approvalNews(decided(nil), decided(approval("approve", "jane", "", began)))
	assert.Contains(t, text, fmt.Sprintf("more than %d decisions within the last hour", maxWaiting/len(told)))
	assert.Equal(t, time.Hour, announcedFor)
}

// table are the rows of a table of docs/events.md.
func table(t *testing.T, name string) (rows []string) {
	t.Helper()
	_, rest, found := strings.Cut(page(t, "events.md"), "<!-- "+name+" -->")
	text, _, closed := strings.Cut(rest, "<!-- /"+name+" -->")
	require.True(t, found && closed, name)
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, line)
		}
	}
	return rows
}
