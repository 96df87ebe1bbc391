package register

import "github.com/rancher/fleet/pkg/names"

var credentialWords = map[CredentialState]string{
	CredentialAbsent:      "no credential is stored",
	CredentialUnusable:    "the stored credential cannot be used",
	CredentialUntested:    "the stored credential is being tried",
	CredentialWorks:       "the stored credential works",
	CredentialRefused:     "the hub refuses the stored credential",
	CredentialUnreachable: "the hub cannot be reached, the stored credential is kept and tried again",
}

// reason says in a sentence why the decision is what it is and, where the agent waits, what ends the wait.
func reason(s Situation, d Decision) string {
	return credentialWords[s.Credential] + "; " + bootstrapWords(s, d)
}

func bootstrapWords(s Situation, d Decision) string {
	secret := "Secret " + names.AgentBootstrapSecret
	switch {
	case d.Action == ActionRegister && s.Bootstrap == BootstrapUnusable:
		return secret + " cannot be used as it is now, the registration that it began before goes on"
	case d.Action == ActionRegister:
		return "registering with " + secret
	case d.DropBootstrap:
		return secret + " has done its work and is removed"
	case s.Bootstrap == BootstrapUsable:
		return "it came from " + secret + ", which is kept until it has been tried"
	case s.Bootstrap == BootstrapUnusable:
		return secret + " cannot be used, waiting for it to change"
	case s.Bootstrap == BootstrapRefused:
		return "the hub refuses the token of " + secret + ", waiting for another (it is tried again each minute)"
	case d.Action == ActionWaitForBootstrap:
		return "there is no " + secret + ", waiting for one"
	}
	return "there is no " + secret
}
