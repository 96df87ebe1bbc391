package config

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// shown is what holds for all that goes into a log or an Event.
func shown(t *testing.T, text string) {
	t.Helper()
	require.NotEmpty(t, text)
	require.Less(t, len(text), 1000)
	require.Less(t, strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }), 0, "%q", text)
}

// FuzzParse: the hub runs on whatever document it is given, on settings that can be acted on.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "- a", "agentCheckinInterval: 1d", "agentUpgrade: {maxUnavailable: 5, soak: -1s}", "agentUpgrade: null",
		"registration: [1]", "agentCredential: {lifetime: 5}", "a: &a [*a]", "\xff", "{\"labels\": {\"a\": 1}}", "clusterOnDelete: x",
		"apiServerCA: '***'", "apiServerCA: ''", "labels: null", "agentCheckinInterval: [1s]", "AGENTCHECKININTERVAL: 1w", "gitClientTimeout: .inf",
		"garbageCollectionInterval: 9223372036854775807", "garbageCollectionInterval: 2562048h", "agentUpgrade: {maxUnavailable: 9999999999999%}",
		"agentUpgrade: {canary: {matchLabels: {\"a\\nb\": c}}}", "a: *nobody\x00", "agentHeartbeatInterval: 1ns", "bootstrap: &b {repo: *b}",
		"a: &x [1,1,1,1]\nb: &y [*x,*x,*x,*x]\nc: &z [*y,*y,*y,*y]\nd: [*z,*z,*z,*z]", strings.Repeat("[", 5000), "clusterOnDelete: \"\\u001b[2J\"",
		"agentUpgrade: {canary: {matchLabels: {\"\\N\": c}}}", "agentImage: \"\\N\"",
		"{agentTLSMode: \"\\ud800\", clientID: 5}", "manageAgent: \"true\"", "agentWorkers: {drift: 50}", "imagePullSecrets: [null, {name: ~}]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		base := Default(testVersion)
		c, warnings, err := Parse(document, base)
		require.Equal(t, Default(testVersion), base, "the base was written to")
		for _, warning := range warnings {
			shown(t, warning)
		}
		require.LessOrEqual(t, len(warnings), 4*len(durationKeys)+3+strings.Count(document, ":"), "no more than there are keys")
		if err != nil {
			require.Equal(t, base, c)
			shown(t, err.Error())
			return
		}
		canBeActedOn(t, c)
		written, err := json.Marshal(c)
		require.NoError(t, err)
		// YAML takes this character for the end of a line, and JSON does not.
		text := strings.ReplaceAll(string(written), "\u0085", `\u0085`)
		again, warnings, err := Parse(text, base)
		require.NoError(t, err)
		require.Empty(t, warnings, "what was taken is good")
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(written), string(rewritten), "to read it once more changes nothing")
	})
}

func canBeActedOn(t *testing.T, c Config) {
	t.Helper()
	for key, d := range durationsOf(c) {
		require.GreaterOrEqual(t, d, time.Duration(0), key)
	}
	require.GreaterOrEqual(t, c.AgentHeartbeatInterval.Duration, time.Second)
	require.NotNil(t, c.AgentUpgrade.MaxUnavailable)
	require.Contains(t, []string{OnDeleteKeep, OnDeleteRemove}, c.ClusterOnDelete)
	require.Contains(t, []string{ShortLifetimeSecret, ShortLifetimeRenewOnly}, c.AgentCredential.OnShortLifetime)
}

// FuzzLoad: of two documents in a row, a bad second one leaves the first in force.
func FuzzLoad(f *testing.F) {
	f.Add("agentImage: a", "agentImage: b", testVersion)
	f.Add("- a", "agentImage: b", "v9")
	f.Add("labels: {a: b}", "labels: [a]", "")
	f.Add("agentCheckinInterval: 1d", "\xff", "\x00")
	f.Fuzz(func(t *testing.T, first, second, version string) {
		source := NewSource(testVersion)
		load := func(version, document string) (Loaded, error) {
			loaded, err := source.Load(configMap(version, document))
			if err != nil {
				shown(t, err.Error())
				require.Contains(t, err.Error(), "ConfigMap cattle-fleet-system/fleet-controller")
			}
			if loaded.Ignored != "" {
				shown(t, loaded.Ignored)
			}
			return loaded, err
		}
		_, _ = load(testVersion, first)
		before := source.Get()
		canBeActedOn(t, before)
		loaded, err := load(version, second)
		if err != nil || loaded.Ignored != "" {
			require.Equal(t, before, source.Get())
		}
		loaded, err = source.Load((*corev1.ConfigMap)(nil))
		require.NoError(t, err)
		require.NotEmpty(t, loaded.Ignored, "a ConfigMap that is gone takes nothing back")
		canBeActedOn(t, source.Get())
	})
}
