package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// durationsOf reads every duration of a configuration by its key.
func durationsOf(c Config) map[string]time.Duration {
	return map[string]time.Duration{
		"agentCheckinInterval":                   c.AgentCheckinInterval.Duration,
		"agentHeartbeatInterval":                 c.AgentHeartbeatInterval.Duration,
		"gitClientTimeout":                       c.GitClientTimeout.Duration,
		"garbageCollectionInterval":              c.GarbageCollectionInterval.Duration,
		"agentCredential.lifetime":               c.AgentCredential.Lifetime.Duration,
		"agentCredential.agentInitiatedLifetime": c.AgentCredential.AgentInitiatedLifetime.Duration,
		"registration.ttlUngranted":              c.Registration.TTLUngranted.Duration,
		"agentUpgrade.soak":                      c.AgentUpgrade.Soak.Duration,
		"clusterOnDeleteTimeout":                 c.ClusterOnDeleteTimeout.Duration,
	}
}

// document sets one key, given as a path, to a YAML value.
func document(path, value string) string {
	keys := strings.Split(path, ".")
	return strings.Join(keys, ": {") + ": " + value + strings.Repeat("}", len(keys)-1)
}

func TestEveryDurationHasATestedKey(t *testing.T) {
	durations := durationsOf(Config{})
	for _, path := range durationKeys {
		assert.Contains(t, durations, strings.Join(path, "."))
	}
	assert.Len(t, durationKeys, len(durations))
}

func TestGoodDurationsAreTaken(t *testing.T) {
	for key := range durationsOf(Config{}) {
		c, warnings := parse(t, document(key, "72h0m1s"))
		assert.Equal(t, 72*time.Hour+time.Second, durationsOf(c)[key], key)
		assert.Empty(t, warnings, key)
	}
}

func TestBadDurationsKeepTheDefaultAndAreNamed(t *testing.T) {
	for key, want := range durationsOf(Default(testVersion)) {
		for _, test := range []struct{ value, warning string }{
			{"1d", `"1d" is not a duration`},
			{"1w", `"1w" is not a duration`},
			{"7d12h", `"7d12h" is not a duration`},
			{"9999999h", "is not a duration"},
			{`""`, `"" is not a duration`},
			{"ten", "is not a duration"},
			{strings.Repeat("x", 5000), "is not a duration"},
			{"5", "5 has no unit"},
			{"-5", "-5 has no unit"},
			{"1e300", "has no unit"},
			{"true", "not a duration"},
			{"[1s]", "not a duration"},
			{"{a: 1s}", "not a duration"},
			{"-1s", "is below the least"},
			{"-9223372036s", "is below the least"},
		} {
			c, warnings := parse(t, document(key, test.value))
			assert.Equal(t, want, durationsOf(c)[key], "%s: %.40s", key, test.value)
			require.Len(t, warnings, 1, "%s: %.40s", key, test.value)
			assert.True(t, strings.HasPrefix(warnings[0], key+": "), warnings[0])
			assert.Contains(t, warnings[0], test.warning)
			assert.Less(t, len(warnings[0]), 200, "a warning is bounded")
		}
	}
}

func TestNumericZeroAndNullKeepTheDefaultInSilence(t *testing.T) {
	for key, want := range durationsOf(Default(testVersion)) {
		for _, value := range []string{"0", "0.0", "null", ""} {
			c, warnings := parse(t, document(key, value))
			assert.Equal(t, want, durationsOf(c)[key], "%s: %s", key, value)
			assert.Empty(t, warnings, "%s: %s", key, value)
		}
	}
}

func TestDurationsBelowTheirLeast(t *testing.T) {
	for _, test := range []struct{ key, below, least string }{
		{"agentHeartbeatInterval", "999ms", "1s"},
		{"agentCredential.lifetime", "9m59s", "10m"},
		{"agentCredential.agentInitiatedLifetime", "1s", "10m"},
		{"registration.ttlUngranted", "59s", "1m"},
	} {
		c, warnings := parse(t, document(test.key, test.below))
		assert.Len(t, warnings, 1, test.key)
		assert.Equal(t, durationsOf(Default(testVersion))[test.key], durationsOf(c)[test.key])
		c, warnings = parse(t, document(test.key, test.least))
		assert.Empty(t, warnings, test.key)
		least, err := time.ParseDuration(test.least)
		require.NoError(t, err)
		assert.Equal(t, least, durationsOf(c)[test.key])
	}
}

func TestAtLeastOneUngrantedRequestIsKept(t *testing.T) {
	for _, bad := range []string{"0", "-1"} {
		c, warnings := parse(t, document("registration.maxUngranted", bad))
		assert.Equal(t, DefaultMaxUngranted, c.Registration.MaxUngranted, bad)
		require.Len(t, warnings, 1)
		assert.Contains(t, warnings[0], "registration.maxUngranted")
	}
	c, warnings := parse(t, document("registration.maxUngranted", "1"))
	assert.Equal(t, 1, c.Registration.MaxUngranted)
	assert.Empty(t, warnings)
}

func TestALimitOfUsesIsNeverReadAsNone(t *testing.T) {
	for written, want := range map[string]int{"0": 0, "1": 1, "1000": 1000, "-1": 1, "5000": 1000} {
		c, warnings := parse(t, document("registration.maxUses", written))
		assert.Equal(t, want, c.Registration.MaxUses, written)
		assert.Equal(t, written == "-1" || written == "5000", len(warnings) == 1, written)
	}
}

func TestOnlyTheBadKeyIsDropped(t *testing.T) {
	c, warnings := parse(t, `
agentCheckinInterval: 1d
garbageCollectionInterval: 20m
gitClientTimeout: 5
agentImage: a
registration: {ttlUngranted: 1w, requireIdentity: true}
`)
	assert.Zero(t, c.AgentCheckinInterval)
	assert.Equal(t, 20*time.Minute, c.GarbageCollectionInterval.Duration)
	assert.Equal(t, DefaultGitClientTimeout, c.GitClientTimeout.Duration)
	assert.Equal(t, "a", c.AgentImage)
	assert.True(t, c.Registration.RequireIdentity)
	assert.Equal(t, DefaultUngrantedTTL, c.Registration.TTLUngranted.Duration)
	require.Len(t, warnings, 3)
	assert.IsIncreasing(t, warnings, "warnings have an order")
}

// The typed reading takes a key in any case, so a bad value under such a key must not get through to it.
func TestKeysOfAnotherCaseAreSanitised(t *testing.T) {
	c, warnings := parse(t, "AGENTCHECKININTERVAL: 1d\nAgentUpgrade: {Soak: 1w}\nagentupgrade: {soak: 5}\n")
	assert.Len(t, warnings, 3)
	assert.Equal(t, Default(testVersion), c)
}

func TestUnknownChoicesKeepTheDefault(t *testing.T) {
	for _, key := range []string{"clusterOnDelete", "agentCredential.onShortLifetime"} {
		c, warnings := parse(t, document(key, "everything"))
		assert.Equal(t, Default(testVersion), c, "in doubt, keep")
		require.Len(t, warnings, 1)
		assert.Contains(t, warnings[0], key+`: "everything" is none of `)
		c, warnings = parse(t, document(key, `""`))
		assert.Equal(t, Default(testVersion), c)
		assert.Empty(t, warnings)
	}
	c, warnings := parse(t, "agentTLSMode: none")
	assert.Equal(t, "none", c.AgentTLSMode, "the import says what is wrong with it")
	assert.Empty(t, warnings)
}

func TestWhatIsRemovedHasATimeToGo(t *testing.T) {
	c, warnings := parse(t, "clusterOnDelete: remove")
	assert.Empty(t, warnings)
	assert.Equal(t, OnDeleteRemove, c.ClusterOnDelete)
	assert.Equal(t, DefaultOnDeleteTimeout, c.ClusterOnDeleteTimeout.Duration)
	c, warnings = parse(t, "clusterOnDeleteTimeout: 0s")
	assert.Equal(t, DefaultOnDeleteTimeout, c.ClusterOnDeleteTimeout.Duration)
	assert.Len(t, warnings, 1)
}

func TestMaxUnavailable(t *testing.T) {
	for _, good := range []string{"0", "3", "25%", "100%"} {
		c, warnings := parse(t, document("agentUpgrade.maxUnavailable", good))
		assert.Equal(t, good, c.AgentUpgrade.MaxUnavailable.String())
		assert.Empty(t, warnings, good)
	}
	for _, bad := range []string{"-1", "-5%", "many", `""`} {
		c, warnings := parse(t, document("agentUpgrade.maxUnavailable", bad))
		assert.Equal(t, "10%", c.AgentUpgrade.MaxUnavailable.String(), bad)
		assert.Len(t, warnings, 1, bad)
	}
	c, warnings := parse(t, "agentUpgrade: {maxUnavailable: null}")
	assert.Equal(t, "10%", c.AgentUpgrade.MaxUnavailable.String(), "nobody has to look for nil")
	assert.Empty(t, warnings)
}

func TestACanarySelectorThatNoLabelMeetsIsNotTaken(t *testing.T) {
	for _, bad := range []string{`{matchLabels: {"a\nb": c}}`, `{matchLabels: {a: "b c"}}`, "{matchExpressions: [{key: a, operator: Near}]}"} {
		c, warnings := parse(t, "agentUpgrade: {soak: 4m, canary: "+bad+"}")
		assert.Nil(t, c.AgentUpgrade.Canary, bad)
		assert.Equal(t, 4*time.Minute, c.AgentUpgrade.Soak.Duration)
		require.Len(t, warnings, 1, bad)
		assert.Contains(t, warnings[0], "agentUpgrade.canary: ")
	}
}

func TestAnEmptyImageIsNone(t *testing.T) {
	c, warnings := parse(t, `agentImage: ""`)
	assert.Equal(t, Default(testVersion).AgentImage, c.AgentImage)
	assert.Empty(t, warnings)
}
