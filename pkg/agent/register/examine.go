package register

import "context"

// Examine says what the stored credential is good for, by the same tests as the supervisor's, and changes nothing. The
// state is empty where the agent's own cluster did not say what is stored.
func Examine(ctx context.Context, c Config) (CredentialState, error) {
	s := NewSupervisor(c)
	snap, err := s.store.look(ctx)
	if err != nil {
		return "", err
	}
	if snap.credential == nil {
		return CredentialAbsent, nil
	}
	read, _, err := readSettings(snap.config)
	if err != nil {
		return CredentialUnusable, err
	}
	s.settings = &read
	credential, err := s.usable(snap.credential)
	if err != nil {
		return CredentialUnusable, err
	}
	return s.try(ctx, credential, read.TLSMode)
}
