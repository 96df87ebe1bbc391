package manageagent

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fleetOf is many agents that run generation g1 while the hub wants g2, named a00, a01, …
func fleetOf(n int, changes map[int]func(*agent)) []agent {
	var out []agent
	for i := range n {
		a := agent{
			key: key{workspace, fmt.Sprintf("a%02d", i)}, reachable: true, desired: "g2", written: "g1", running: "g1",
			waved: true, writtenAt: now.Add(-time.Hour),
		}
		if f := changes[i]; f != nil {
			f(&a)
		}
		out = append(out, a)
	}
	return out
}

func given(ago time.Duration) func(*agent) {
	return func(a *agent) { a.written, a.writtenAt = a.desired, now.Add(-ago) }
}

func done(ago time.Duration) func(*agent) {
	return func(a *agent) {
		a.written, a.running, a.writtenAt, a.upgradedAt = a.desired, a.desired, now.Add(-ago), now.Add(-ago)
	}
}

func canary(a *agent)   { a.canary = true }
func offline(a *agent)  { a.reachable = false }
func failing(a *agent)  { a.failing = true }
func atOwn(a *agent)    { a.waved = false }
func takeBack(a *agent) { a.takenBack = true }

func all(changes ...func(*agent)) func(*agent) {
	return func(a *agent) {
		for _, f := range changes {
			f(a)
		}
	}
}

type by = map[int]func(*agent)

func TestWhoseAgentIsUpgradedNow(t *testing.T) {
	const minute = time.Minute
	tenth := policy{intstr.FromString("10%"), 2 * minute}
	for name, test := range map[string]struct {
		agents []agent
		policy policy
		now    []string
		says   string
	}{
		"a tenth at a time":                        {fleetOf(20, nil), tenth, []string{"a00", "a01"}, "10% at a time"},
		"at least one":                             {fleetOf(3, nil), tenth, []string{"a00"}, "at a time"},
		"a number":                                 {fleetOf(9, nil), policy{intstr.FromInt32(3), 0}, []string{"a00", "a01", "a02"}, "3 at a time"},
		"none where none may be":                   {fleetOf(9, nil), policy{intstr.FromInt32(0), 0}, nil, "maxUnavailable is 0"},
		"none at nought percent":                   {fleetOf(9, nil), policy{intstr.FromString("0%"), 0}, nil, "maxUnavailable is 0"},
		"those under way count":                    {fleetOf(20, by{0: given(minute)}), tenth, []string{"a01"}, "at a time"},
		"those that are done do not":               {fleetOf(20, by{0: done(minute), 1: done(minute)}), tenth, []string{"a02", "a03"}, "at a time"},
		"canaries first":                           {fleetOf(20, by{7: canary}), tenth, []string{"a07"}, "canary clusters are upgraded first"},
		"canaries in shares too":                   {fleetOf(10, by{7: canary, 8: canary}), tenth, []string{"a07"}, "canary"},
		"the rest waits for a canary":              {fleetOf(20, by{7: all(canary, given(minute))}), tenth, nil, "canary clusters are upgraded first"},
		"and while it is watched":                  {fleetOf(20, by{7: all(canary, done(minute))}), tenth, nil, "watched until 2026-03-01T12:01:00Z"},
		"until that ends":                          {fleetOf(20, by{7: all(canary, done(2*minute))}), tenth, []string{"a00", "a01"}, "at a time"},
		"a canary that is offline holds none":      {fleetOf(20, by{7: all(canary, offline)}), tenth, []string{"a00"}, "at a time"},
		"offline ones do not count":                {fleetOf(20, by{0: offline, 1: offline}), tenth, []string{"a02"}, "at a time"},
		"of 3, one offline (B12)":                  {fleetOf(3, by{0: offline}), tenth, []string{"a01"}, "at a time"},
		"one that was taken back keeps its place":  {fleetOf(20, by{0: all(given(minute), takeBack)}), tenth, []string{"a01"}, "at a time"},
		"also when it is offline since":            {fleetOf(20, by{0: all(given(hangAfter), takeBack, offline)}), tenth, []string{"a01"}, "at a time"},
		"so does one that hangs":                   {fleetOf(20, by{0: given(hangAfter)}), tenth, []string{"a01"}, "at a time"},
		"all places are kept":                      {fleetOf(20, by{0: all(given(minute), takeBack), 1: given(hangAfter)}), tenth, nil, "cluster a00"},
		"the only place is kept":                   {fleetOf(9, by{0: all(given(minute), takeBack)}), tenth, nil, "cluster a00"},
		"others under way are no reason to stop":   {fleetOf(20, by{0: all(given(minute), takeBack), 1: given(minute)}), tenth, nil, "at a time"},
		"a canary that was taken back stops all":   {fleetOf(40, by{7: all(canary, given(minute), takeBack)}), tenth, nil, "a canary cluster was taken back or hangs; condition AgentUpgraded of cluster a07"},
		"and one that hangs":                       {fleetOf(40, by{7: all(canary, given(hangAfter))}), tenth, nil, "condition AgentUpgraded of cluster a07"},
		"the other canaries too":                   {fleetOf(40, by{7: all(canary, given(minute), takeBack), 8: canary}), tenth, nil, "cluster a07"},
		"a canary's own change stops nobody":       {fleetOf(40, by{7: all(canary, given(hangAfter), atOwn, takeBack)}), policy{intstr.FromInt32(1), 0}, []string{"a00"}, "at a time"},
		"none may be, and one was taken back":      {fleetOf(9, by{0: all(given(minute), takeBack)}), policy{intstr.FromInt32(0), 0}, nil, "maxUnavailable is 0"},
		"one that cannot be written waits as well": {fleetOf(9, by{0: all(given(minute), takeBack), 1: failing}), policy{intstr.FromInt32(1), 0}, nil, "cluster a00"},
		"one that is about to does not":            {fleetOf(20, by{0: given(hangAfter - 1)}), tenth, []string{"a01"}, "at a time"},
		"its own change stops nobody":              {fleetOf(20, by{0: all(given(hangAfter), atOwn)}), tenth, []string{"a01", "a02"}, "at a time"},
		"taken back, of a generation before":       {fleetOf(20, by{0: takeBack}), tenth, []string{"a00", "a01"}, "at a time"},
		"one that fell silent keeps its place":     {fleetOf(20, by{0: all(given(minute), offline)}), tenth, []string{"a01"}, "at a time"},
		"for a while":                              {fleetOf(20, by{0: all(given(hangAfter), offline)}), policy{intstr.FromInt32(1), 0}, []string{"a01"}, "at a time"},
		"too many that fell silent stop it":        {fleetOf(20, by{0: all(given(hangAfter), offline), 1: all(given(hangAfter), offline)}), policy{intstr.FromInt32(1), 0}, nil, "too many fell silent"},
		"one that cannot be written blocks none":   {fleetOf(9, by{0: failing}), policy{intstr.FromInt32(1), 0}, []string{"a00", "a01"}, "at a time"},
		"nobody is there":                          {nil, tenth, nil, ""},
		"all are done":                             {fleetOf(2, by{0: done(minute), 1: done(minute)}), tenth, nil, ""},
		"more under way than may be, after a cut":  {fleetOf(9, by{0: given(minute), 1: given(minute)}), policy{intstr.FromInt32(1), 0}, nil, "at a time"},
	} {
		w := planWave(test.agents, test.policy, now)
		var got []string
		for _, a := range test.agents {
			if w.now[a.key] {
				got = append(got, a.name)
			}
		}
		assert.Equal(t, test.now, got, name)
		assert.Contains(t, w.told(workspace), test.says, name)
	}
}

func TestAWaveSaysWhenTimeAloneMatters(t *testing.T) {
	p := policy{intstr.FromInt32(1), 2 * time.Minute}
	assert.Zero(t, planWave(fleetOf(3, nil), p, now).again)
	assert.Equal(t, now.Add(time.Minute), planWave(fleetOf(3, by{0: all(canary, done(time.Minute))}), p, now).again)
	assert.Equal(t, now.Add(hangAfter-time.Minute), planWave(fleetOf(3, by{0: given(time.Minute)}), p, now).again)
}

// Who may read one workspace need not know of the others.
func TestAStoppedWaveNamesNoClusterOfAnotherWorkspace(t *testing.T) {
	for name, test := range map[string]struct {
		changes func(*agent)
		why     string
	}{
		"the only place is kept": {takeBack, "as many as may be under way at once"},
		"by a canary":            {all(canary, takeBack), "a canary cluster"},
	} {
		w := planWave(fleetOf(3, by{0: all(given(time.Minute), test.changes)}), policy{intstr.FromInt32(1), 0}, now)
		assert.Contains(t, w.told(workspace), "a00", name)
		assert.Contains(t, w.told("other"), test.why, name)
		assert.NotContains(t, w.told("other"), "a00", name)
		assert.NotContains(t, w.told("other"), workspace, name)
	}
}

// An agent that takes its upgrade back, or hangs, on purpose costs the others one place and no more.
func TestOneBadAgentStopsNoOtherWorkspace(t *testing.T) {
	for name, bad := range map[string]func(*agent){"taken back": all(given(time.Minute), takeBack), "hangs": given(hangAfter)} {
		agents := fleetOf(20, by{0: bad})
		agents[0].namespace = "of the bad one"
		for upgraded := range 19 {
			w := planWave(agents, policy{intstr.FromString("10%"), 0}, now)
			require.Len(t, w.now, 1, name)
			require.NotContains(t, w.told(workspace), "stopped", name)
			for i := range agents {
				if w.now[agents[i].key] {
					done(time.Minute)(&agents[i])
				}
			}
			require.Equal(t, "g2", agents[upgraded+1].running, name)
		}
	}
}
