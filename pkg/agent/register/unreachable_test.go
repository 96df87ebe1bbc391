package register

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
)

// T12: an agent says why the hub does not hear it, once, and again when the reason becomes another.
func TestALostHubIsExplainedOncePerReason(t *testing.T) {
	recorder := record.NewFakeRecorder(20)
	r := newReporter(recorder, &corev1.ObjectReference{})
	next := func() string {
		select {
		case event := <-recorder.Events:
			return event
		default:
			return ""
		}
	}
	network := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	certificate := fmt.Errorf("Lease x: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "fleet-agent", nil)

	r.heartbeatFails("https://hub", network)
	assert.Contains(t, next(), "Warning HubUnreachable Hub https://hub cannot be reached, trying again: dial: connection refused")
	r.heartbeatFails("https://hub", &net.OpError{Op: "read", Err: errors.New("connection reset")})
	assert.Empty(t, next(), "the network is in trouble, that was said")
	r.heartbeatFails("https://hub", certificate)
	said := next()
	assert.Contains(t, said, "x509")
	assert.Contains(t, said, "apiServerCA", "the way out")
	r.heartbeatFails("https://hub", certificate)
	assert.Empty(t, next())
	r.heartbeatFails("https://hub", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnauthorized, Reason: metav1.StatusReasonUnauthorized}})
	assert.Empty(t, next(), "the credential is tried, and what comes of that is said then")
	r.heartbeatFails("https://hub", forbidden)
	assert.Contains(t, next(), "Warning HeartbeatFailed")
	r.settled(topicHeartbeat)
	r.heartbeatFails("https://hub", forbidden)
	assert.Contains(t, next(), "Warning HeartbeatFailed", "it is news again")
}
