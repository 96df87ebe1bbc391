package clusterimport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestATroubleIsExplainedWithItsRemedy(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	unknown := x509.UnknownAuthorityError{Cert: &x509.Certificate{Subject: pkix.Name{CommonName: "served"}, Issuer: pkix.Name{CommonName: "a CA"}, Raw: []byte("raw")}}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		err    error
		reason string
		says   []string
	}{
		"known":                 {&trouble{reason: "ImportTokenTaken", err: errors.New("taken")}, "ImportTokenTaken", []string{"taken"}},
		"unknown authority":     {fmt.Errorf("get: %w", &url.Error{Op: "Get", URL: "https://x", Err: unknown}), "UntrustedCertificate", []string{"ws/kubeconfig", "CN=served", "CN=a CA", digest([]byte("raw")), "put the CA", "no CA"}},
		"without a certificate": {x509.UnknownAuthorityError{}, "UntrustedCertificate", []string{"ws/kubeconfig"}},
		"wrong host":            {x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}, "CertificateMismatch", []string{"ws/kubeconfig", "tls-server-name"}},
		"not verified":          {&tls.CertificateVerificationError{Err: x509.ConstraintViolationError{}}, "UntrustedCertificate", []string{"ws/kubeconfig"}},
		"x509 in words only":    {errors.New("tls: x509: certificate has expired"), "ImportFailed", []string{"expired", "ws/kubeconfig"}},
		"401":                   {fmt.Errorf("get: %w", apierrors.NewUnauthorized("no")), "KubeconfigRefused", []string{"ws/kubeconfig", "put a new one"}},
		"403":                   {fmt.Errorf("apply: %w", apierrors.NewForbidden(resource, "fleet-agent", errors.New("quota"))), "Forbidden", []string{"ws/kubeconfig", "quota"}},
		"deadline":              {fmt.Errorf("get: %w", context.DeadlineExceeded), "Unreachable", []string{"deadline", "ws/kubeconfig", "firewall", "tries again", "10 minutes"}},
		"network":               {&url.Error{Op: "Get", URL: "https://x", Err: dial}, "Unreachable", []string{"refused", "ws/kubeconfig", "correct the kubeconfig"}},
		"anything else":         {errors.New("surprise"), "ImportFailed", []string{"surprise", "ws/kubeconfig", "another server", "tries again"}},
	} {
		t.Run(name, func(t *testing.T) {
			reason, message := explain(test.err, "ws/kubeconfig", trusted{})
			assert.Equal(t, test.reason, reason)
			for _, part := range test.says {
				assert.Contains(t, message, part)
			}
		})
	}
}

// A condition that changed with each try would be written with each try.
func TestTheSameTroubleReadsTheSame(t *testing.T) {
	said := func(port int) string {
		_, message := explain(fmt.Errorf("Get \"https://x/version\": read tcp 10.0.0.1:%d->192.0.2.7:6443: read: connection reset by peer", port), "s", trusted{})
		return message
	}
	assert.Equal(t, said(40123), said(51888))
	assert.Contains(t, said(1), "192.0.2.7:6443")
}

func TestWhatAForeignClusterSaysIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 10<<20), strings.Repeat("é", 5000), "a\xffb", strings.Repeat("\xff", 5000)} {
		_, message := explain(errors.New(text), "s", trusted{})
		assert.LessOrEqual(t, len(message), 3*maxText+400)
		assert.True(t, utf8.ValidString(message))
	}
}

// A name in a certificate or an answer may hold what a terminal acts on, or another line of a log.
func TestWhatAForeignClusterSaysIsPrintable(t *testing.T) {
	cert := &x509.Certificate{DNSNames: []string{"a\x1b[2J", "b\nlevel=error", "c\u202e\x00"}}
	for name, err := range map[string]error{
		"a certificate": x509.HostnameError{Certificate: cert, Host: "x"},
		"an answer":     apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New("\x1b]0;title\a\r\n\u2028no")),
		"anything":      errors.New("\x1b[31m" + strings.Repeat("é\n", 5000)),
	} {
		_, message := explain(err, "s", trusted{})
		assert.Equal(t, -1, strings.IndexFunc(message, func(r rune) bool { return !unicode.IsGraphic(r) }), "%s: %q", name, message)
	}
}

// What is cut is cut between characters, and shows that it was.
func TestWhatAForeignClusterSaysIsCutBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		message := plain(errors.New(strings.Repeat("x", shift) + strings.Repeat("漢", 5000)))
		assert.True(t, strings.HasSuffix(message, "漢..."), message[len(message)-20:])
		assert.NotContains(t, message, "?")
		assert.Equal(t, maxText+len("..."), utf8.RuneCountInString(message))
	}
	assert.Equal(t, strings.Repeat("漢", maxText), plain(errors.New(strings.Repeat("漢", maxText))))
}

func TestNoCredentialIsRepeated(t *testing.T) {
	token := jwt("uid")
	for _, text := range []string{
		"you sent Authorization: Bearer kubeconfig-user:abcdef, go away", "no: " + token + " is bad", "token=" + token, "bearer\t" + token, "bearer\x00" + "abcdef",
	} {
		_, message := explain(errors.New(text), "s", trusted{})
		assert.NotContains(t, message, token)
		assert.NotContains(t, message, "abcdef")
		assert.Contains(t, message, "(a credential)")
	}
}
