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
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// patience is several times what anything here takes on a busy machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func TestRequestsPassAsTheyAre(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		client := newClient(t, ca)
		content, err := get(t, client, s.URL()+"/readyz")
		require.NoError(t, err)
		require.Equal(t, "Bearer t0ken ", content, "the token passes, nothing is added")
		code, content, err := do(t, client, http.MethodPost, s.URL()+"/api/v1/namespaces", "body")
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, code)
		require.Equal(t, "body", content)
		require.Equal(t, 1, s.Open())
		require.Equal(t, 1, s.Accepted())
	})
}

func TestEventsOfAWatchFlowAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		lines := watch(t, newClient(t, ca), s.URL())
		for _, event := range []string{"one", "two"} {
			b.send(t, event)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, event+"\n", line)
		}
	})
}

func TestRefuseResetsAndRefusesUntilPass(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		url := s.URL()
		lines := watch(t, newClient(t, ca), url)
		s.Refuse()
		_, err := lines.ReadString('\n')
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF)
		require.ErrorIs(t, getAnew(t, ca, url+"/readyz"), syscall.ECONNREFUSED)
		s.Refuse()

		require.NoError(t, s.Pass())
		require.Equal(t, url, s.URL())
		require.NoError(t, getAnew(t, ca, url+"/readyz"))
	})
}

func TestBlackHoleSwallowsUntilPass(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		client := newClient(t, ca)
		lines := watch(t, client, s.URL())
		require.NoError(t, s.BlackHole())

		fresh := newClient(t, ca)
		fresh.Timeout = 200 * time.Millisecond // the window in which no answer is observed
		_, err := get(t, fresh, s.URL()+"/readyz")
		require.True(t, isTimeout(err), "%v", err)

		// What was sent meanwhile arrives when the hole closes.
		line := make(chan string, 1)
		go func() {
			read, _ := lines.ReadString('\n')
			line <- read
		}()
		b.send(t, "late")
		select {
		case read := <-line:
			t.Fatalf("%q came through a black hole", read)
		case <-time.After(200 * time.Millisecond):
		}
		require.NoError(t, s.Pass())
		require.Equal(t, "late\n", <-line)
	})
}

func isTimeout(err error) bool {
	timeout, ok := err.(interface{ Timeout() bool })
	return ok && timeout.Timeout()
}

func TestSlowDelaysButKeepsTheThroughput(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		client := newClient(t, ca)
		_, err := get(t, client, s.URL()+"/readyz") // so that the handshake is done
		require.NoError(t, err)
		const roundTrip = 200 * time.Millisecond
		s.Slow(roundTrip)
		start := time.Now()
		_, err = get(t, client, s.URL()+"/readyz")
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), roundTrip)

		start = time.Now()
		content, err := get(t, client, s.URL()+"/big")
		require.NoError(t, err)
		require.Len(t, content, 4<<20)
		require.Less(t, time.Since(start), 50*roundTrip, "each chunk waits for itself, not for all before it")
		s.Slow(0)
	})
}

func TestCutEndsWatchesAndServesNewOnes(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		client := newClient(t, ca)
		lines := watch(t, client, s.URL())
		s.Cut()
		_, err := lines.ReadString('\n')
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF)

		// Or the old watch takes the event.
		require.Eventually(t, func() bool { return b.watching.Load() == 0 }, patience, time.Millisecond)
		lines = watch(t, client, s.URL())
		b.send(t, "again")
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "again\n", line)
		require.Equal(t, 2, s.Accepted())
	})
}

func TestMoveLeavesTheOldAddressForGood(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		old := s.URL()
		lines := watch(t, newClient(t, ca), old)
		require.NoError(t, s.Move())
		require.NotEqual(t, old, s.URL())
		_, err := lines.ReadString('\n')
		require.Error(t, err)
		require.ErrorIs(t, getAnew(t, ca, old+"/readyz"), syscall.ECONNREFUSED)
		require.NoError(t, getAnew(t, ca, s.URL()+"/readyz"))
	})
}

func TestServerThatIsDownIsABrokenConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, b *backend, s proxy, ca []byte) {
		b.Close()
		code, _, err := do(t, newClient(t, ca), http.MethodPost, s.URL()+"/api/v1/namespaces", "")
		require.Error(t, err, "answered %d", code)
	})
}

func TestClosedShimTakesNoOrders(t *testing.T) {
	b := newBackend(t)
	s := RunTCP(t, b.URL)
	s.Close()
	require.Error(t, s.Pass())
	require.Error(t, s.BlackHole())
	s.Close()
}

func TestRetargetSendsNewRequestsElsewhere(t *testing.T) {
	one, two := newBackend(t), newBackend(t)
	s := Run(t, one.URL, one.ca())
	client := newClient(t, s.CA())
	for _, b := range []*backend{one, two} {
		require.NoError(t, s.Retarget(b.URL, b.ca()))
		_, _, err := do(t, client, http.MethodPost, s.URL()+"/api/v1/namespaces", "")
		require.NoError(t, err)
		require.EqualValues(t, 1, b.writes.Load())
	}
	require.Error(t, s.Retarget("http://plain", one.ca()))
	require.Error(t, s.Retarget(one.URL, []byte("no certificate")))
}

func TestSwappedAuthorityIsNotTrustedByOldClients(t *testing.T) {
	b := newBackend(t)
	s := Run(t, b.URL, b.ca())
	old := s.CA()
	require.NoError(t, getAnew(t, old, s.URL()+"/readyz"))

	require.NoError(t, s.SwapCertificate(time.Hour))
	require.NoError(t, getAnew(t, old, s.URL()+"/readyz"), "same authority")

	require.NoError(t, s.SwapCertificate(-time.Minute))
	var invalid x509.CertificateInvalidError
	require.ErrorAs(t, getAnew(t, old, s.URL()+"/readyz"), &invalid)
	require.Equal(t, x509.Expired, invalid.Reason)

	require.NoError(t, s.SwapCA())
	require.ErrorAs(t, getAnew(t, old, s.URL()+"/readyz"), new(x509.UnknownAuthorityError))
	require.NoError(t, getAnew(t, s.CA(), s.URL()+"/readyz"))
}
