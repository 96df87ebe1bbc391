package shim

import (
	"crypto/x509"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// patience is several times what anything here takes on a busy machine.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		require.NoError(t, getAnew(t, ca, s.URL()+"/readyz"))
		require.GreaterOrEqual(t, time.Since(start), 3*roundTrip, "TCP, TLS and the request take one each")

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
