package register

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/pace"
	"github.com/rancher/fleet/pkg/names"
)

// held is the stored credential and what is known of it.
type held struct {
	state CredentialState
	// key names the credential, see stored.key; it is empty where there is none that can be used.
	key    string
	stored stored
	// testAt is when it is to be tried next.
	testAt  time.Time
	backoff pace.Backoff
}

// bootstrap is the bootstrap secret and what is known of it.
type bootstrap struct {
	state  BootstrapState
	secret *corev1.Secret
	order  order
	// id names the order and the object that gave it; it is empty where there is none that can be used.
	id string
	// refused is the id of one whose token the hub refuses, retryAt when it is tried again.
	refused string
	retryAt time.Time
}

// step looks at what there is, decides, and acts.
func (s *Supervisor) step(ctx context.Context) {
	s.lookAgain = time.Time{}
	if err := s.lookAndAct(ctx); err != nil && ctx.Err() == nil {
		s.report.logged(topicLocal, err.Error(), fmt.Sprintf("The agent's own cluster fails, trying again: %v", err))
		s.lookAgain = s.Clock.Now().Add(s.trouble.Next())
		return
	}
	s.report.settled(topicLocal)
	s.trouble.Reset()
}

func (s *Supervisor) lookAndAct(ctx context.Context) error {
	if err := s.save(ctx); err != nil {
		return err
	}
	snap, err := s.store.look(ctx)
	if err != nil {
		return err
	}
	if err := s.identify(ctx, snap); err != nil {
		return err
	}
	s.observeConfig(snap.config)
	s.observeCredential(snap.credential)
	s.observeBootstrap(snap.bootstrap)
	s.doubtTwice()
	decision := Decide(s.situation())
	s.tell(decision)
	return s.act(ctx, decision)
}

// observeConfig takes over settings that can be read.
func (s *Supervisor) observeConfig(cm *corev1.ConfigMap) {
	if cm == nil && s.settings != nil {
		s.report.logged(topicConfig, "gone", fmt.Sprintf("ConfigMap %s/%s is missing: the settings before are kept", s.Namespace, names.AgentConfigMap))
		return
	}
	read, warnings, err := readSettings(cm)
	if err != nil {
		s.report.warning(topicConfig, EventConfigInvalid, err.Error(), err.Error()+"; until it is mended the settings before are kept")
		return
	}
	s.settings = &read
	if len(warnings) == 0 {
		s.report.settled(topicConfig)
		return
	}
	message := fmt.Sprintf("ConfigMap %s/%s: %s", s.Namespace, names.AgentConfigMap, strings.Join(warnings, "; "))
	s.report.warning(topicConfig, EventConfigInvalid, message, message)
}

func (s *Supervisor) observeCredential(secret *corev1.Secret) {
	if secret == nil {
		s.held = held{state: CredentialAbsent}
		return
	}
	c, err := s.usable(secret)
	if err != nil {
		s.report.warning(topicCredential, EventCredentialInvalid, err.Error(), "The stored credential cannot be used: "+err.Error())
		s.held = held{state: CredentialUnusable}
		return
	}
	if key := c.key(s.settings.TLSMode); key != s.held.key {
		s.held = s.newHeld(key, CredentialUntested)
	}
	s.held.stored = c
}

// usable reads the stored credential as far as that is possible without the hub.
func (s *Supervisor) usable(secret *corev1.Secret) (stored, error) {
	if s.settings == nil {
		return stored{}, fmt.Errorf("ConfigMap %s/%s cannot be read, and with it whom to trust", s.Namespace, names.AgentConfigMap)
	}
	c, err := readStored(secret)
	if err == nil {
		err = hub.Check(c.kubeconfig, s.settings.TLSMode)
	}
	return c, err
}

func (s *Supervisor) newHeld(key string, state CredentialState) held {
	return held{
		state: state, key: key,
		backoff: pace.Backoff{First: s.Pace.RetryFirst, Max: s.Pace.RefusedRetry, Random: s.Random},
	}
}

func (s *Supervisor) observeBootstrap(secret *corev1.Secret) {
	b := bootstrap{state: BootstrapAbsent, secret: secret}
	defer func() { s.bootstrap = b }()
	if secret == nil {
		return
	}
	if s.settings == nil {
		b.state = BootstrapUnusable
		return
	}
	var err error
	if b.order, err = newOrder(secret, *s.settings, s.clusterUID); err != nil {
		b.state = BootstrapUnusable
		s.report.warning(topicBootstrap, EventBootstrapInvalid, err.Error(), err.Error()+"; waiting for it to change")
		return
	}
	b.state = BootstrapUsable
	if s.bootstrap.state == BootstrapUnusable {
		s.report.settled(topicBootstrap)
	}
	b.id = b.order.key + "/" + string(secret.UID)
	if b.id == s.bootstrap.refused {
		b.refused = b.id
		if s.Clock.Now().Before(s.bootstrap.retryAt) {
			b.state, b.retryAt = BootstrapRefused, s.bootstrap.retryAt
		}
	}
}

// doubtTwice has the credential tried when the bootstrap secret that it came from is there once more. Whoever wrote it
// again, such as an upgrade of the chart, may only have repeated itself; but where the Cluster was deleted meanwhile, it
// is the way back, and the agent may not have noticed yet.
func (s *Supervisor) doubtTwice() {
	if s.bootstrap.id == "" || s.bootstrap.id == s.answered || s.bootstrap.order.digest != s.held.stored.order {
		return
	}
	s.answered = s.bootstrap.id
	s.suspect(s.held.key)
}

func (s *Supervisor) situation() Situation {
	out := Situation{Credential: s.held.state, Bootstrap: s.bootstrap.state, Progress: ProgressNone}
	if s.bootstrap.id != "" {
		out.Fulfilled = s.bootstrap.order.digest == s.held.stored.order
	}
	if s.handshake != nil {
		out.Progress = ProgressOutdated
		if s.handshake.key == s.bootstrap.id {
			out.Progress = ProgressCurrent
		}
	}
	return out
}

// tell says what was decided when it is something else than before.
func (s *Supervisor) tell(d Decision) {
	switch {
	case d.Action == ActionWaitForBootstrap:
		s.report.warning(topicDecision, EventWaitingForBootstrap, d.Reason, d.Reason+s.wayOut())
	case d.Action == ActionRegister && s.bootstrap.refused != "":
		// The minute's try of a token that was refused is no news.
	default:
		s.report.logged(topicDecision, d.Reason, d.Reason)
	}
}

// wayOut says where the bootstrap secret is looked for, and what brings one.
func (s *Supervisor) wayOut() string {
	if s.bootstrap.secret != nil {
		return ""
	}
	return fmt.Sprintf(" in namespace %s. Install the chart fleet-agent there, or let the hub import the cluster. Is it there in another namespace, correct --namespace",
		s.Namespace)
}
