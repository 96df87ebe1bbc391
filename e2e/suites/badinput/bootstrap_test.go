package badinput_test

import (
	"strings"
	"testing"

	"github.com/rancher/fleet/pkg/names"
)

// Bootstrap secrets that are half written, malformed or huge. One agent goes through the rows.
func TestABootstrapSecretThatCannotBeUsedIsNamedAndHeals(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	rows := append(missingKeyRows(), malformedRows()...)
	a := b.newAgent(t, "bad-bootstrap")
	a.run(t, rows[:1])
	a.tells(t, "BootstrapInvalid", names.AgentBootstrapSecret, "apiServerURL")
	a.run(t, rows[1:])
}

// bootstrapRow is a row of a bootstrap secret with some keys changed.
func bootstrapRow(name string, changes map[string][]byte, says ...string) agentRow {
	return agentRow{name: name, says: append(says, names.AgentBootstrapSecret, "reason=BootstrapInvalid"), spoil: func(t *testing.T, a *agent) {
		a.secret(t, names.AgentBootstrapSecret, a.bootstrap(changes))
	}}
}

func missingKeyRows() (rows []agentRow) {
	for _, key := range []string{"apiServerURL", "clusterNamespace", "token", "systemRegistrationNamespace"} {
		rows = append(rows, bootstrapRow("no "+key, map[string][]byte{key: nil}, `key "`+key+`"`))
	}
	rows = append(rows, bootstrapRow("no apiServerCA, with strict", map[string][]byte{"apiServerCA": nil}, "apiServerCA", "system-store"))
	return append(rows, agentRow{name: "no keys", says: []string{`key "apiServerURL"`, `key "token"`, "reason=BootstrapInvalid"}, spoil: func(t *testing.T, a *agent) {
		a.secret(t, names.AgentBootstrapSecret, map[string][]byte{})
	}})
}

func malformedRows() []agentRow {
	set := func(key, value string) map[string][]byte { return map[string][]byte{key: []byte(value)} }
	document := func(name, text string, says ...string) agentRow {
		return agentRow{name: name, says: append(says, "reason=BootstrapInvalid"), spoil: func(t *testing.T, a *agent) {
			a.secret(t, names.AgentBootstrapSecret, map[string][]byte{"values": []byte(text)})
		}}
	}
	return []agentRow{
		bootstrapRow("a plain address", set("apiServerURL", "http://hub.example.com"), `key "apiServerURL"`, "https"),
		bootstrapRow("an address without scheme", set("apiServerURL", "hub.example.com:6443"), `key "apiServerURL"`),
		bootstrapRow("an address with a password", set("apiServerURL", "https://jane:"+marker+"@hub"), `key "apiServerURL"`, "without user"),
		bootstrapRow("a CA that is none", set("apiServerCA", marker), "CA", "PEM"),
		bootstrapRow("a CA in bytes", map[string][]byte{"apiServerCA": {0x30, 0x82, 0, 0xff}}, "apiServerCA"),
		bootstrapRow("a workspace that is none", set("clusterNamespace", "Fleet Default"), `key "clusterNamespace"`, "Fleet Default"),
		bootstrapRow("a long workspace", set("clusterNamespace", strings.Repeat("w", 253)), `key "clusterNamespace"`, "63"),
		bootstrapRow("a path for a workspace", set("clusterNamespace", "../../secrets"), `key "clusterNamespace"`),
		bootstrapRow("a token with spaces", set("token", marker+" "+marker), `key "token"`),
		bootstrapRow("a token of bytes", map[string][]byte{"token": {0, 1, 0xff}}, `key "token"`),
		bootstrapRow("a huge token", set("token", strings.Repeat(marker, 40_000)), `key "token"`, "bytes"),
		bootstrapRow("a name of a token that is none", set("tokenName", "Not A Name"), `key "tokenName"`),
		document("a document that is none", "\t{"+marker, `key "values"`, "YAML"),
		document("a document that is a list", "- a\n- b\n", `key "values"`),
		document("an empty document", "", `key "apiServerURL"`),
		document("a document of numbers", "apiServerURL: 5\ntoken: 6\nclusterNamespace: 7\nsystemRegistrationNamespace: 8\n", `key "apiServerURL"`, `key "token"`),
		document("a huge document", "token: "+strings.Repeat("x", 900_000), `key "values"`, "bytes"),
		{name: "a token that nobody gave", calls: 3, says: []string{"401", names.AgentBootstrapSecret, "reason=BootstrapTokenRefused"}, spoil: func(t *testing.T, a *agent) {
			a.secret(t, names.AgentBootstrapSecret, a.bootstrap(set("token", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2JvZHkifQ.c2ln")))
		}},
		{name: "a workspace that does not exist", calls: 7, says: []string{noSuch, "forbidden", "reason=RegistrationFailed"}, spoil: func(t *testing.T, a *agent) {
			a.secret(t, names.AgentBootstrapSecret, a.bootstrap(set("clusterNamespace", a.elsewhere())))
		}},
	}
}
