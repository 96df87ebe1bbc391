package shim

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// backend is a small stand-in for an API server.
type backend struct {
	*httptest.Server
	writes   atomic.Int32
	watching atomic.Int32
	events   chan string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{events: make(chan string)}
	b.Server = httptest.NewUnstartedServer(b)
	b.EnableHTTP2 = true
	b.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that were cut
	b.StartTLS()
	t.Cleanup(func() {
		b.CloseClientConnections()
		b.Close()
	})
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Query().Get("watch") != "":
		b.watch(w, r)
	case r.URL.Path == "/big":
		_, _ = io.Copy(w, io.LimitReader(zeros{}, 4<<20))
	case r.Method == http.MethodPost:
		b.writes.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
	default:
		fmt.Fprint(w, r.Header.Get("Authorization"), " ", r.Header.Get("X-Forwarded-For"))
	}
}

// watch answers at once and then with each event, without ever ending by itself.
func (b *backend) watch(w http.ResponseWriter, r *http.Request) {
	b.watching.Add(1)
	defer b.watching.Add(-1)
	w.WriteHeader(http.StatusOK)
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case event := <-b.events:
			fmt.Fprintln(w, event)
		case <-r.Context().Done():
			return
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (b *backend) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
}

// proxy is what both kinds of shim can do.
type proxy interface {
	URL() string
	Pass() error
	Refuse()
	BlackHole() error
	Slow(time.Duration)
	Cut()
	Move() error
	Open() int
	Accepted() int
}

// onBoth runs a test in front of a new backend with each kind of shim.
func onBoth(t *testing.T, test func(t *testing.T, b *backend, s proxy, ca []byte)) {
	t.Run("TLS", func(t *testing.T) {
		b := newBackend(t)
		s := Run(t, b.URL, b.ca())
		test(t, b, s, s.CA())
	})
	t.Run("TCP", func(t *testing.T) {
		b := newBackend(t)
		test(t, b, RunTCP(t, b.URL), b.ca())
	})
}

// newClient trusts the authority alone and keeps connections open, like client-go.
func newClient(t *testing.T, ca []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(ca))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func do(t *testing.T, client *http.Client, method, url, body string) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer t0ken")
	request.Header.Set("User-Agent", "tester/v1 (linux)")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func get(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	_, content, err := do(t, client, http.MethodGet, url, "")
	return content, err
}

// getAnew uses a new connection: on an old one, a reset may come first.
func getAnew(t *testing.T, ca []byte, url string) error {
	t.Helper()
	_, err := get(t, newClient(t, ca), url)
	return err
}

// watch starts a stream and returns its lines.
func watch(t *testing.T, client *http.Client, url string) *bufio.Reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/secrets?watch=1", http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	return bufio.NewReader(response.Body)
}

func (b *backend) send(t *testing.T, event string) {
	t.Helper()
	select {
	case b.events <- event:
	case <-time.After(patience):
		t.Fatal("nobody watches")
	}
}
