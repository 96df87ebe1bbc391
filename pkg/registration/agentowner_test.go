package registration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/names"
)

var anOwner = AgentOwner{Hub: "8a4b6c3e-1b1c-4f56-9a41-08d7c0a1f3aa", Cluster: "11111111-2222-3333-4444-555555555555", Namespace: "fleet-default", Name: "edge.1"}

func marked(value string) map[string]string {
	return map[string]string{names.AgentOwnerAnnotation: value}
}

func TestTheMarkOfAnAgentsNamespaceIsReadBack(t *testing.T) {
	assert.JSONEq(t, `{"hub":"8a4b6c3e-1b1c-4f56-9a41-08d7c0a1f3aa","cluster":"11111111-2222-3333-4444-555555555555","namespace":"fleet-default","name":"edge.1"}`, anOwner.Annotation())
	got, found, ok := AgentOwnerOf(marked(anOwner.Annotation()))
	assert.True(t, found && ok)
	assert.Equal(t, anOwner, got)

	_, found, ok = AgentOwnerOf(nil)
	assert.False(t, found || ok)
}

// What lies on another cluster can be anything.
func TestAMarkThatCannotBeReadIsSomebodys(t *testing.T) {
	with := func(change func(*AgentOwner)) string {
		o := anOwner
		change(&o)
		return o.Annotation()
	}
	for name, value := range map[string]string{
		"empty": "", "no JSON": "mine", "null": "null", "a list": "[]", "cut": anOwner.Annotation()[:40],
		"huge":              strings.Repeat("x", 200<<10),
		"huge and well":     anOwner.Annotation() + strings.Repeat(" ", maxAgentOwner),
		"no hub":            with(func(o *AgentOwner) { o.Hub = "" }),
		"no cluster":        with(func(o *AgentOwner) { o.Cluster = "" }),
		"a long UID":        with(func(o *AgentOwner) { o.Hub = strings.Repeat("a", names.MaxUID+1) }),
		"a UID with a line": with(func(o *AgentOwner) { o.Cluster = "a\nb" }),
		"a UID with marks":  with(func(o *AgentOwner) { o.Hub = "<b>" }),
		"a path":            with(func(o *AgentOwner) { o.Name = "../../secrets" }),
		"a path before":     with(func(o *AgentOwner) { o.Namespace = "a/b" }),
		"no name":           with(func(o *AgentOwner) { o.Name = "" }),
	} {
		_, found, ok := AgentOwnerOf(marked(value))
		assert.True(t, found, name)
		assert.False(t, ok, name)
	}
}

func TestWhoseMarkItIsFollowsFromUIDs(t *testing.T) {
	other := anOwner
	other.Name = "another"
	assert.True(t, anOwner.Same(other))
	other.Cluster = "x"
	assert.False(t, anOwner.Same(other))
	other = anOwner
	other.Hub = "x"
	assert.False(t, anOwner.Same(other))
}

func TestWhichNamespacesAnImportHolds(t *testing.T) {
	i := Import{ClusterUID: "u", Namespace: "agents", Previous: []string{"left"}}
	assert.True(t, i.Holds("u", "agents"))
	assert.True(t, i.Holds("u", "left"), "its agent is still there")
	assert.False(t, i.Holds("u", "other"))
	assert.False(t, i.Holds("v", "agents"))
	assert.False(t, Import{}.Holds("", ""))
}

func FuzzAgentOwner(f *testing.F) {
	f.Add(anOwner.Annotation())
	f.Add(`{"hub":"a","cluster":"b","namespace":"c","name":"d","more":[{}]}`)
	for _, seed := range []string{
		"", "null", "[]", `"text"`, "{", strings.Repeat("[", 2000), anOwner.Annotation() + anOwner.Annotation(), "\xff",
		`{"hub":"\u001b[2J","cluster":"b","namespace":"c","name":"d"}`, `{"hub":"a","hub":"b","cluster":"b","namespace":"..","name":"../d"}`,
		`{"HUB":"a","Cluster":"b","nameSpace":"c","name":"d"}`, `{"hub":1e999,"cluster":"b","namespace":"c","name":"d"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		owner, found, ok := AgentOwnerOf(marked(value))
		require.True(t, found)
		if !ok {
			require.Zero(t, owner, "nothing is taken from a mark that cannot be read")
			return
		}
		require.LessOrEqual(t, len(value), maxAgentOwner)
		require.LessOrEqual(t, len(owner.Hub)+len(owner.Cluster), 2*names.MaxUID)
		require.True(t, isPlain(owner.Hub+owner.Cluster+owner.Namespace+owner.Name))
		again, _, ok := AgentOwnerOf(marked(owner.Annotation()))
		require.True(t, ok)
		require.Equal(t, owner, again)
		require.True(t, json.Valid([]byte(owner.Annotation())))
	})
}
