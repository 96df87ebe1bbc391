package register

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		in   Situation
		want Decision
	}{
		"nothing is there": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapAbsent},
			Decision{Action: ActionWaitForBootstrap, Work: Stop, Handshake: Leave},
		},
		"a new agent registers": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapUsable},
			Decision{Action: ActionRegister, Work: Stop, Handshake: Start},
		},
		"a handshake that runs goes on": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapUsable, Progress: ProgressCurrent},
			Decision{Action: ActionRegister, Work: Stop, Handshake: Leave},
		},
		"a changed bootstrap secret restarts a running handshake (R24)": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapUsable, Progress: ProgressOutdated},
			Decision{Action: ActionRegister, Work: Stop, Handshake: Start},
		},
		"half a bootstrap secret is waited for": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapUnusable},
			Decision{Action: ActionWaitForBootstrap, Work: Stop, Handshake: Leave},
		},
		"half a bootstrap secret stops no handshake": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapUnusable, Progress: ProgressOutdated},
			Decision{Action: ActionRegister, Work: Stop, Handshake: Leave},
		},
		"a bootstrap secret that is taken away ends the handshake": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapAbsent, Progress: ProgressOutdated},
			Decision{Action: ActionWaitForBootstrap, Work: Stop, Handshake: Stop},
		},
		"a dead bootstrap token is waited for (R02)": {
			Situation{Credential: CredentialAbsent, Bootstrap: BootstrapRefused},
			Decision{Action: ActionWaitForBootstrap, Work: Stop, Handshake: Leave},
		},

		"a stored credential is tried first": {
			Situation{Credential: CredentialUntested, Bootstrap: BootstrapAbsent},
			Decision{Action: ActionTest, Work: Leave, Test: true, Handshake: Leave},
		},
		"a stored credential that works is used (R11)": {
			Situation{Credential: CredentialWorks, Bootstrap: BootstrapAbsent},
			Decision{Action: ActionUse, Work: Start, Handshake: Leave},
		},
		"a hub that does not answer refuses nothing (A11)": {
			Situation{Credential: CredentialUnreachable, Bootstrap: BootstrapAbsent},
			Decision{Action: ActionRetryLater, Work: Leave, Test: true, Handshake: Leave},
		},
		"a refused credential without a way back is tried on (R01)": {
			Situation{Credential: CredentialRefused, Bootstrap: BootstrapAbsent},
			Decision{Action: ActionWaitForBootstrap, Work: Stop, Test: true, Handshake: Leave},
		},
		"a refused credential with a bootstrap secret leads to another (R01)": {
			Situation{Credential: CredentialRefused, Bootstrap: BootstrapUsable},
			Decision{Action: ActionRegister, Work: Stop, Test: true, Handshake: Start},
		},
		"a refused credential that came from this secret needs another request": {
			Situation{Credential: CredentialRefused, Bootstrap: BootstrapUsable, Fulfilled: true},
			Decision{Action: ActionRegister, Work: Stop, Test: true, Handshake: Start, Anew: true},
		},
		"and that request is not begun anew each time": {
			Situation{Credential: CredentialRefused, Bootstrap: BootstrapUsable, Fulfilled: true, Progress: ProgressCurrent},
			Decision{Action: ActionRegister, Work: Stop, Test: true, Handshake: Leave},
		},
		"an unusable credential is replaced": {
			Situation{Credential: CredentialUnusable, Bootstrap: BootstrapUsable},
			Decision{Action: ActionRegister, Work: Stop, Handshake: Start},
		},
		"an unusable credential alone is waited with": {
			Situation{Credential: CredentialUnusable, Bootstrap: BootstrapAbsent},
			Decision{Action: ActionWaitForBootstrap, Work: Stop, Handshake: Leave},
		},

		"a new bootstrap secret counts although the credential works (R24)": {
			Situation{Credential: CredentialWorks, Bootstrap: BootstrapUsable},
			Decision{Action: ActionRegister, Work: Start, Handshake: Start},
		},
		"and the credential stays in use meanwhile": {
			Situation{Credential: CredentialWorks, Bootstrap: BootstrapUsable, Progress: ProgressCurrent},
			Decision{Action: ActionRegister, Work: Start, Handshake: Leave},
		},
		"a new bootstrap secret counts although the hub does not answer": {
			Situation{Credential: CredentialUnreachable, Bootstrap: BootstrapUsable},
			Decision{Action: ActionRegister, Work: Leave, Test: true, Handshake: Start},
		},
		"a dead bootstrap token does not touch a credential that works": {
			Situation{Credential: CredentialWorks, Bootstrap: BootstrapRefused},
			Decision{Action: ActionUse, Work: Start, Handshake: Leave},
		},
		"half a bootstrap secret does not touch a credential that works": {
			Situation{Credential: CredentialWorks, Bootstrap: BootstrapUnusable},
			Decision{Action: ActionUse, Work: Start, Handshake: Leave},
		},

		"a bootstrap secret that has done its work goes": {
			Situation{Credential: CredentialWorks, Bootstrap: BootstrapUsable, Fulfilled: true},
			Decision{Action: ActionUse, Work: Start, Handshake: Leave, DropBootstrap: true},
		},
		"but not before the credential is known to work": {
			Situation{Credential: CredentialUntested, Bootstrap: BootstrapUsable, Fulfilled: true},
			Decision{Action: ActionTest, Work: Leave, Test: true, Handshake: Leave},
		},
		"nor while the hub does not answer": {
			Situation{Credential: CredentialUnreachable, Bootstrap: BootstrapUsable, Fulfilled: true},
			Decision{Action: ActionRetryLater, Work: Leave, Test: true, Handshake: Leave},
		},
		"a fulfilled secret ends a handshake for an older one": {
			Situation{Credential: CredentialWorks, Bootstrap: BootstrapUsable, Fulfilled: true, Progress: ProgressOutdated},
			Decision{Action: ActionUse, Work: Start, Handshake: Stop, DropBootstrap: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.in.Progress == "" {
				c.in.Progress = ProgressNone
			}
			got := Decide(c.in)
			assert.NotEmpty(t, got.Reason)
			got.Reason = ""
			assert.Equal(t, c.want, got)
		})
	}
}

func every(t *testing.T, check func(t *testing.T, s Situation, d Decision)) {
	t.Helper()
	for _, credential := range []CredentialState{CredentialAbsent, CredentialUnusable, CredentialUntested, CredentialWorks, CredentialRefused, CredentialUnreachable} {
		for _, bootstrap := range []BootstrapState{BootstrapAbsent, BootstrapUnusable, BootstrapUsable, BootstrapRefused} {
			for _, progress := range []Progress{ProgressNone, ProgressCurrent, ProgressOutdated} {
				for _, fulfilled := range []bool{false, true} {
					s := Situation{Credential: credential, Bootstrap: bootstrap, Progress: progress, Fulfilled: fulfilled}
					check(t, s, Decide(s))
				}
			}
		}
	}
}

func TestEveryDecisionKeepsTheRules(t *testing.T) {
	every(t, func(t *testing.T, s Situation, d Decision) {
		assert.NotEmpty(t, credentialWords[s.Credential], "%+v has no words", s)
		if d.DropBootstrap {
			assert.Equal(t, CredentialWorks, s.Credential, "%+v drops the only way back", s)
			assert.True(t, s.Fulfilled, "%+v drops an order that was not carried out", s)
			assert.NotEqual(t, Start, d.Handshake, "%+v drops what it registers with", s)
		}
		if s.Credential == CredentialUnreachable || s.Credential == CredentialUntested {
			assert.Equal(t, Leave, d.Work, "%+v acts on no answer", s)
		}
		if d.Handshake == Start {
			assert.Equal(t, BootstrapUsable, s.Bootstrap, "%+v registers with nothing", s)
		}
		if s.Credential != CredentialWorks && s.Bootstrap != BootstrapUsable && s.Progress == ProgressNone {
			assert.Contains(t, []Action{ActionTest, ActionRetryLater, ActionWaitForBootstrap}, d.Action, "%+v waits for nothing", s)
		}
	})
}
