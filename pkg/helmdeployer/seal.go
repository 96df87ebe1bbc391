package helmdeployer

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"sync"

	"github.com/sirupsen/logrus"
	"helm.sh/helm/v3/pkg/release"

	"github.com/rancher/fleet/pkg/helmdeployer/history"
)

// ErrUnproven says that nothing but its own record says of a release that it is this agent's. It is left alone.
var ErrUnproven = errors.New("only the record of a release says that it is this agent's")

// sealLength is how many hex digits of a seal are kept: as many as a label holds, and more than can be guessed.
const sealLength = 32

// seals tell records that the agent wrote, before its start too, from those that somebody else did: whoever may write Secrets
// in the namespace of a release can write any record, but has not got the agent's key.
type seals struct {
	ask func(ctx context.Context) ([]byte, error)

	mu  sync.Mutex
	key []byte
}

// known is the key, nil where there is none. It is asked for until there is one.
func (s *seals) known(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.key) > 0 || s.ask == nil {
		return s.key, nil
	}
	var err error
	s.key, err = s.ask(ctx)
	return s.key, err
}

// seal is the one of a revision in that place; empty where there is no key. It covers what can be done by the record, and
// which revision of which release it is: not even a record of the agent's own can stand for another.
func (s *seals) seal(ctx context.Context, namespace, name string, found *release.Release) string {
	key, err := s.known(ctx)
	if err != nil {
		logrus.Warnf("The agent's key cannot be read, the record of release %s/%s counts as somebody else's: %v", namespace, name, err)
	}
	if len(key) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{"fleet/v1 release record", namespace, name, strconv.Itoa(found.Version)} {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	said := digest(found)
	mac.Write(said[:])
	return hex.EncodeToString(mac.Sum(nil))[:sealLength]
}

// isSealed says whether a record is the one that this agent wrote in that place.
func (d *Deployer) isSealed(ctx context.Context, namespace, name string, found *release.Release) bool {
	want := d.seals.seal(ctx, namespace, name, found)
	return want != "" && hmac.Equal([]byte(want), []byte(found.Labels[history.SealLabel]))
}

// isStrict says whether the deployer can seal. One that cannot believes records as far as they agree with what it is told.
func (d *Deployer) isStrict() bool { return d.seals.ask != nil }

// maxUnsealed bounds the objects of a record that somebody else wrote: in memory they take many times their size. A Secret
// holds more only of what was made to be large.
const maxUnsealed = 16 << 20

// isOutsized says whether a record is somebody else's and too large to be looked at.
func (d *Deployer) isOutsized(ctx context.Context, namespace, name string, found *release.Release) bool {
	return d.isStrict() && len(found.Manifest) > maxUnsealed && !d.isSealed(ctx, namespace, name, found)
}

// Proven says whether a release, as it is listed, is this agent's for certain: by what it did or heard since its start, or
// by the seal of the record.
func (d *Deployer) Proven(ctx context.Context, of Deployed) (bool, error) {
	if !d.isStrict() || d.trusted.isNamed(of) {
		return true, nil
	}
	self, err := d.self()
	if err != nil {
		return false, err
	}
	found, err := history.Read(ctx, self.Kube.CoreV1(), history.ID{Namespace: of.Namespace, Name: of.Name, Revision: of.Revision})
	switch {
	case errors.Is(err, history.ErrNotFound), errors.Is(err, history.ErrUnreadable): // the agent writes none like that
		return false, nil
	case err != nil:
		return false, err
	}
	return d.isSealedFor(ctx, of, found), nil
}

// isSealedFor says whether a sealed record says of a release what the list of them does.
func (d *Deployer) isSealedFor(ctx context.Context, of Deployed, found *release.Release) bool {
	notes := notesOf(found)
	return d.isSealed(ctx, of.Namespace, of.Name, found) && notes[bundleIDAnnotation] == of.BundleID &&
		notes[agentNamespaceAnnotation] == d.cfg.Namespace && notes[accountAnnotation] == of.ServiceAccount
}
