package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/names"
)

func TestTextsAreWrappedAndCommandsStayWhole(t *testing.T) {
	assert.Equal(t, []string{"one two", "three"}, wrap("one two three", 8))
	assert.Equal(t, []string{"do", "`fleet token create NAME`.", "then"}, wrap("do `fleet token create NAME`. then", 8))
	assert.Equal(t, []string{"a ` b"}, wrap("a ` b", 80))
	assert.Equal(t, []string{""}, wrap("", 8))
	assert.Equal(t, "abc…", cut("abcdef", 4))
	assert.Equal(t, "äöü", cut("äöü", 3))
	assert.Equal(t, "if so, `approve --replace`, else `deny`", brief("if so, `fleet registration approve --replace r -n ws`, else `fleet registration deny r -n ws`"))
}

// Names of requests have 62 characters; the messages of the hub hold them several times.
func TestWhatPeopleReadIsNoWiderThanAWindow(t *testing.T) {
	atNow(t)
	h := newTestHub(t, "", withEvents()...)
	h.joined("fleet-default", "edge-1")
	long := "request-" + strings.Repeat("k", 54)
	h.put("ClusterRegistration", aRequest("fleet-default", long, refusedFor(explain.ReasonIdentityConflict, "edge-1"), func(r *fleet.ClusterRegistration) {
		r.Spec.ClientID = "42e4d00f-af82-44fe-a568-bb5aa9bcad8f"
		r.Spec.Identity.PublicKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="
		r.Status.Conditions[0].Message = "cluster edge-1 is bound to key " + strings.Repeat("a", 32) + " of cluster uid, the request brings another; if it is the same cluster with a new agent, " +
			"`fleet registration approve --replace " + long + " -n fleet-default`, else `fleet registration deny " + long + " -n fleet-default`"
	}))
	person, err := newHub(h.kubeconfig, "")
	require.NoError(t, err)
	facts, err := factReader{hub: person, ctx: t.Context(), system: names.DefaultSystemNamespace, now: now}.facts(object{"fleet-default", "edge-1"}, false)
	require.NoError(t, err)
	var explained bytes.Buffer
	require.NoError(t, printExplanation(&explained, explain.Explain(facts), now))
	_, clusters, _ := typed("cluster", "list")
	_, requests, _ := typed("registration", "list")
	for _, line := range strings.Split(explained.String()+clusters+requests, "\n") {
		if !strings.HasPrefix(line, "    $ ") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 170, line)
		}
	}
	command := "fleet registration approve --replace " + long + " -n fleet-default"
	assert.Equal(t, 1, strings.Count(explained.String(), command), "a command is named once")
	assert.Contains(t, explained.String(), "    $ "+command+"\n")
}
