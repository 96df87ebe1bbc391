package kube

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/fleet/pkg/kube/kubetest"
)

func election(identity string) Election {
	return Election{
		Namespace: "ns", Name: "lock", Identity: identity,
		LeaseDuration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond,
	}
}

func clientsOf(t *testing.T, server *kubetest.Server) kubernetes.Interface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	return clients
}

func holder(t *testing.T, clients kubernetes.Interface) string {
	t.Helper()
	lease, err := clients.CoordinationV1().Leases("ns").Get(t.Context(), "lock", metav1.GetOptions{})
	require.NoError(t, err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestTheLeaseIsReleasedAfterTheWorkHasEnded(t *testing.T) {
	clients := clientsOf(t, kubetest.New(t))
	ctx, cancel := context.WithCancel(context.Background())
	leading, finish := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- Lead(ctx, clients, election("one"), func(ctx context.Context) error {
			close(leading)
			<-ctx.Done()
			<-finish
			return ctx.Err()
		})
	}()
	receive(t, leading, "leadership")
	assert.Equal(t, "one", holder(t, clients))

	cancel()
	select {
	case <-ended:
		t.Error("Lead returned before the work did")
	case <-time.After(300 * time.Millisecond): // the window in which it would
	}
	assert.Equal(t, "one", holder(t, clients), "held while the work still runs")

	close(finish)
	require.NoError(t, receive(t, ended, "the end"))
	assert.Empty(t, holder(t, clients))
}

func TestTheNextLeaderStartsOnlyAfterTheFirst(t *testing.T) {
	clients := clientsOf(t, kubetest.New(t))
	var working atomic.Int32
	lead := func(ctx context.Context, identity string) (leading chan struct{}, ended chan error) {
		leading, ended = make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- Lead(ctx, clients, election(identity), func(ctx context.Context) error {
				if working.Add(1) > 1 {
					t.Error("two lead at once")
				}
				defer working.Add(-1)
				close(leading)
				<-ctx.Done()
				return nil
			})
		}()
		return leading, ended
	}
	firstCtx, stopFirst := context.WithCancel(context.Background())
	secondCtx, stopSecond := context.WithCancel(context.Background())
	defer stopSecond()
	firstLeads, firstEnded := lead(firstCtx, "one")
	receive(t, firstLeads, "the first leader")
	secondLeads, secondEnded := lead(secondCtx, "two")

	stopFirst()

	require.NoError(t, receive(t, firstEnded, "the first's end"))
	receive(t, secondLeads, "the second leader")
	stopSecond()
	require.NoError(t, receive(t, secondEnded, "the second's end"))
}

func TestALostLeaseEndsTheWork(t *testing.T) {
	server := kubetest.New(t)
	clients := clientsOf(t, server)
	ended := make(chan error, 1)
	leading := make(chan struct{})
	var cancelled atomic.Bool
	go func() {
		ended <- Lead(context.Background(), clients, election("one"), func(ctx context.Context) error {
			close(leading)
			<-ctx.Done()
			cancelled.Store(true)
			return nil
		})
	}()
	receive(t, leading, "leadership")

	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/leases/") {
			return false
		}
		kubetest.Fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "out")
		return true
	})

	assert.ErrorIs(t, receive(t, ended, "the end"), ErrLeadershipLost)
	assert.True(t, cancelled.Load())
}

// One call that hangs must not use up all the time there is to renew.
func TestAHangingCallIsTriedAgainBeforeTheDeadline(t *testing.T) {
	server := kubetest.New(t)
	clients := clientsOf(t, server)
	ctx, cancel := context.WithCancel(context.Background())
	leading, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Lead(ctx, clients, election("one"), func(ctx context.Context) error {
			close(leading)
			<-ctx.Done()
			return nil
		})
	}()
	receive(t, leading, "leadership")

	var hung atomic.Bool
	var after atomic.Int32
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && hung.CompareAndSwap(false, true) {
			server.Hang(r)
			return true
		}
		if hung.Load() && r.Method == http.MethodPut {
			after.Add(1)
		}
		return false
	})
	require.Eventually(t, func() bool { return after.Load() > 2 }, deadlineFor, 10*time.Millisecond)

	cancel()
	assert.NoError(t, receive(t, ended, "the end"))
}

func TestWhatTheWorkReturnsEndsTheElection(t *testing.T) {
	clients := clientsOf(t, kubetest.New(t))
	failure := errors.New("cannot go on")

	err := Lead(testContext(t), clients, election("one"), func(context.Context) error { return failure })

	assert.ErrorIs(t, err, failure)
	assert.Empty(t, holder(t, clients))
}

func TestCancelledBeforeLeading(t *testing.T) {
	clients := clientsOf(t, kubetest.New(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	err := Lead(ctx, clients, election("one"), func(ctx context.Context) error { return ctx.Err() })

	assert.NoError(t, err)
}

func TestElectionSettings(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want [3]time.Duration
		says []string
	}{
		"defaults":                 {env: nil, want: [3]time.Duration{30 * time.Second, 25 * time.Second, 10 * time.Second}},
		"given":                    {env: map[string]string{EnvLeaseDuration: "1m", EnvRenewDeadline: "40s", EnvRetryPeriod: "5s"}, want: [3]time.Duration{time.Minute, 40 * time.Second, 5 * time.Second}},
		"no duration":              {env: map[string]string{EnvRetryPeriod: "10"}, says: []string{EnvRetryPeriod}},
		"lease not above renew":    {env: map[string]string{EnvLeaseDuration: "25s"}, says: []string{EnvLeaseDuration, EnvRenewDeadline}},
		"renew not above retry":    {env: map[string]string{EnvRetryPeriod: "21s"}, says: []string{EnvRenewDeadline, EnvRetryPeriod}},
		"less than a second":       {env: map[string]string{EnvLeaseDuration: "900ms", EnvRenewDeadline: "500ms", EnvRetryPeriod: "10ms"}, says: []string{EnvLeaseDuration}},
		"a negative retry period":  {env: map[string]string{EnvRetryPeriod: "-1s"}, says: []string{EnvRetryPeriod}},
		"an endless lease refused": {env: map[string]string{EnvLeaseDuration: "for ever"}, says: []string{EnvLeaseDuration}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := ElectionFromEnv(func(key string) string { return test.env[key] })
			if test.says != nil {
				require.Error(t, err)
				for _, part := range test.says {
					assert.ErrorContains(t, err, part)
				}
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, [3]time.Duration{e.LeaseDuration, e.RenewDeadline, e.RetryPeriod})
		})
	}
}

func TestIdentityIsThePodOrUnique(t *testing.T) {
	assert.Equal(t, "fleet-agent-0", Identity("fleet-agent-0"))
	assert.NotEqual(t, Identity(""), Identity(""), "two processes on one host are two")
}

func TestLeadNeedsToKnowWhatItContests(t *testing.T) {
	err := Lead(testContext(t), clientsOf(t, kubetest.New(t)), Election{Name: "lock"}, nil)
	assert.ErrorContains(t, err, "identity")
}
