package register

import (
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// Reasons of the Events that the agent writes into its namespace.
const (
	EventRegistering         = "Registering"
	EventRegistrationWaiting = "RegistrationWaiting"
	EventRegistrationFailed  = "RegistrationFailed"
	EventRegistered          = "Registered"
	EventBootstrapInvalid    = "BootstrapInvalid"
	EventBootstrapRefused    = "BootstrapTokenRefused"
	EventWaitingForBootstrap = "WaitingForBootstrap"
	EventCredentialRefused   = "CredentialRefused"
	EventCredentialInvalid   = "CredentialInvalid"
	EventCredentialRenewed   = "CredentialRenewed"
	EventConfigInvalid       = "ConfigInvalid"
	EventHubUnreachable      = "HubUnreachable"
	EventHeartbeatFailed     = "HeartbeatFailed"
)

// maxMessage is what the API server accepts of an Event's message, in bytes. The log gets no more: parts of a message are
// the hub's words.
const maxMessage = 1024

// reporter tells people what changed: in the log and as an Event. It says a thing once, until something else is said on
// the same topic.
type reporter struct {
	recorder record.EventRecorder
	about    runtime.Object

	mu   sync.Mutex
	last map[topic]string
}

// topic is what a message is about; each has one state at a time.
type topic string

const (
	topicDecision   topic = "decision"
	topicHandshake  topic = "handshake"
	topicBootstrap  topic = "bootstrap"
	topicCredential topic = "credential"
	topicConfig     topic = "config"
	topicRenewal    topic = "renewal"
	topicLocal      topic = "local"
	topicKey        topic = "key"
	topicHeartbeat  topic = "heartbeat"
)

func newReporter(recorder record.EventRecorder, about runtime.Object) *reporter {
	return &reporter{recorder: recorder, about: about, last: map[topic]string{}}
}

// changed notes the state of a topic and says whether it is another than before.
func (r *reporter) changed(t topic, state string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last[t] == state {
		return false
	}
	r.last[t] = state
	return true
}

// settled says that a topic gives no more cause to speak: what comes next is news again.
func (r *reporter) settled(t topic) { r.changed(t, "") }

// normal reports something that is as it should be.
func (r *reporter) normal(t topic, reason, state, message string) {
	if r.changed(t, reason+state) {
		message = bounded(message)
		logrus.WithField("reason", reason).Info(message)
		r.recorder.Event(r.about, corev1.EventTypeNormal, reason, message)
	}
}

// warning reports trouble.
func (r *reporter) warning(t topic, reason, state, message string) {
	if r.changed(t, reason+state) {
		message = bounded(message)
		logrus.WithField("reason", reason).Warn(message)
		r.recorder.Event(r.about, corev1.EventTypeWarning, reason, message)
	}
}

// logged goes to the log alone.
func (r *reporter) logged(t topic, state, message string) {
	if r.changed(t, state) {
		logrus.Info(bounded(message))
	}
}

func bounded(message string) string {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "")
	}
	return message
}
