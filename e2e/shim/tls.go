package shim

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rancher/fleet/e2e/certs"
)

// certLife is how long the shim's own certificates are good for.
const certLife = 24 * time.Hour

// TLS ends the clients' TLS with an authority of its own and forwards their requests to the server over TLS of its own,
// bearer tokens included. It can do all that a TCP shim can; beyond that it knows requests.
type TLS struct {
	*TCP
	server   *http.Server
	inside   *insideListener
	serving  atomic.Pointer[tls.Certificate]
	upstream atomic.Pointer[upstream]
	ledger   ledger
	rules    rules

	certMu    sync.Mutex
	authority *certs.Authority

	handlers handlers
}

// NewTLS listens on a free loopback port and forwards requests to the server at the URL, which has to show a certificate
// of the authority (PEM).
func NewTLS(url string, authority []byte) (*TLS, error) {
	s := &TLS{TCP: newFront(url), inside: newInsideListener(), ledger: newLedger()}
	s.dial = s.inside.dial
	if err := s.Retarget(url, authority); err != nil {
		return nil, err
	}
	if err := s.SwapCA(); err != nil {
		return nil, err
	}
	s.server = &http.Server{
		Handler:  s,
		ErrorLog: log.New(io.Discard, "", 0), // clients that do not trust the certificate, connections that were cut: on purpose
		TLSConfig: &tls.Config{
			GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.serving.Load(), nil },
			SessionTicketsDisabled: true, // a resumed session would not see a new certificate
		},
	}
	s.running.Go(func() { _ = s.server.ServeTLS(s.inside, "", "") })
	if err := s.open(); err != nil {
		s.inside.Close()
		s.running.Wait()
		return nil, err
	}
	return s, nil
}

// CA is what clients have to trust to accept the shim, as PEM.
func (s *TLS) CA() []byte {
	s.certMu.Lock()
	defer s.certMu.Unlock()
	return s.authority.Cert
}

// SwapCA serves with a certificate of a new authority and cuts the open connections, as a restarted server would.
func (s *TLS) SwapCA() error {
	authority, err := certs.NewAuthority("shim-ca")
	if err != nil {
		return err
	}
	return s.Serve(authority, certLife)
}

// SwapCertificate serves with a new certificate of the same authority and cuts the open connections. With a negative life
// it has expired.
func (s *TLS) SwapCertificate(life time.Duration) error {
	s.certMu.Lock()
	authority := s.authority
	s.certMu.Unlock()
	return s.Serve(authority, life)
}

// Serve is for authorities that a test made itself, such as one that comes back, and for more names than the loopback's.
func (s *TLS) Serve(authority *certs.Authority, life time.Duration, names ...string) error {
	pair, err := authority.Server("shim", life, append(names, "127.0.0.1", "localhost")...)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return fmt.Errorf("certificate of the shim: %w", err)
	}
	s.certMu.Lock()
	s.authority = authority
	s.serving.Store(&certificate)
	s.certMu.Unlock()
	s.Cut()
	return nil
}

// Retarget forwards new requests to another server, or to the same one with another authority.
func (s *TLS) Retarget(url string, authority []byte) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return errors.New("authority of the server behind the shim: no certificate in the PEM")
	}
	fresh, err := newUpstream(url, pool)
	if err != nil {
		return err
	}
	s.TCP.Retarget(url)
	if old := s.upstream.Swap(fresh); old != nil {
		old.transport.CloseIdleConnections()
	}
	return nil
}

// Close ends the shim and waits until nothing of it runs.
func (s *TLS) Close() {
	s.rules.release()
	s.server.Close()
	s.inside.Close()
	s.TCP.Close()
	s.handlers.end()
	s.upstream.Load().transport.CloseIdleConnections()
}

// insideListener hands the clients' connections to the HTTP server without another socket.
type insideListener struct {
	conns     chan net.Conn
	done      chan struct{}
	closeOnce sync.Once
}

func newInsideListener() *insideListener {
	return &insideListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *insideListener) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *insideListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *insideListener) Close() error {
	l.closeOnce.Do(func() { close(l.done) })
	return nil
}

func (l *insideListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// handlers are the requests that are being served; http.Server.Close does not wait for them.
type handlers struct {
	mu     sync.Mutex
	ended  bool
	active sync.WaitGroup
}

func (h *handlers) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.active.Add(1)
	}
	return !h.ended
}

func (h *handlers) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.active.Wait()
}
