package shim

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/count"
)

const (
	configMaps = "/api/v1/namespaces/a/configmaps"
	lease      = "/apis/coordination.k8s.io/v1/namespaces/a/leases"
)

func setUp(t *testing.T) (*backend, *TLS, *http.Client) {
	t.Helper()
	b := newBackend(t)
	s := Run(t, b.URL, b.ca())
	return b, s, newClient(t, s.CA())
}

func TestCountsAreReadAsADifference(t *testing.T) {
	_, s, client := setUp(t)
	_, err := get(t, client, s.URL()+"/readyz")
	require.NoError(t, err)
	before := s.Counts()
	for _, url := range []string{configMaps, configMaps, lease} {
		_, _, err := do(t, client, http.MethodPost, s.URL()+url, "")
		require.NoError(t, err)
	}
	_, err = get(t, client, s.URL()+configMaps+"/one")
	require.NoError(t, err)
	watch(t, client, s.URL())

	diff := s.Counts().Sub(before)
	require.Equal(t, 5, diff.Total(), "%s", diff)
	require.Equal(t, count.Counts{{UserAgent: "tester", Verb: "create", Resource: "configmaps"}: 2}, diff.Writes().Without(count.Leases, count.Events))
	require.Equal(t, 1, diff.Where(count.Verb("watch"), count.On("", "secrets")).Total())

	requests := s.Requests()
	require.Len(t, requests, 6)
	require.Equal(t, http.StatusCreated, requests[1].Code)
	require.Equal(t, count.Object{Namespace: "a", Name: "one"}, requests[4].Object)
	require.Contains(t, requests[4].String(), "get configmaps by tester a/one -> 200")
}

func TestFaultsHitTheNthMatchingRequestOnly(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault Fault
		acted int32
	}{
		{"before the server", FailBefore, 2},
		{"after the server", DropAnswer, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, s, client := setUp(t)
			injection := s.FaultNth(2, test.fault, func(r Request) bool { return Writes(r) && r.Resource == "configmaps" })
			for i, url := range []string{configMaps, lease, configMaps, configMaps} {
				_, _, err := do(t, client, http.MethodPost, s.URL()+url, "")
				require.Equal(t, i == 2, err != nil, "request %d to %s: %v", i, url, err)
			}
			require.EqualValues(t, test.acted+1, b.writes.Load())
			require.Len(t, injection.Hits(), 1)
			require.Equal(t, 3, injection.Hits()[0].Number)
			<-injection.Done()
		})
	}
}

func TestHangingAnswersMarkTheExactPointOfACrash(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault Fault
		acted int32
	}{
		{"before the server", HangBefore, 0},
		{"after the server", HangAnswer, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, s, client := setUp(t)
			injection := s.FaultNth(1, test.fault, Writes)
			ctx, crash := context.WithCancel(t.Context())
			defer crash()
			result := make(chan error, 1)
			go func() {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+configMaps, http.NoBody)
				if err == nil {
					_, err = client.Do(request)
				}
				result <- err
			}()
			select {
			case <-injection.Done():
			case <-time.After(patience):
				t.Fatal("the fault did not strike")
			}
			require.EqualValues(t, test.acted, b.writes.Load())
			require.Empty(t, result, "the client waits")
			crash()
			require.ErrorIs(t, <-result, context.Canceled)
		})
	}
}

func TestRemoveBreaksWhatHangsAndEndsTheRule(t *testing.T) {
	_, s, client := setUp(t)
	injection := s.Inject(Rule{Fault: HangBefore})
	result := make(chan error, 1)
	go func() {
		_, err := client.Get(s.URL() + "/readyz")
		result <- err
	}()
	<-injection.Done()
	injection.Remove()
	injection.Remove()
	require.Error(t, <-result)
	_, err := get(t, client, s.URL()+"/readyz")
	require.NoError(t, err)
}

func TestAnswersInTheServersPlaceAreStatuses(t *testing.T) {
	b, s, client := setUp(t)
	for code := range reasons {
		injection := s.Inject(Rule{Match: Writes, Fault: Answer(code), Times: 1})
		got, content, err := do(t, client, http.MethodPost, s.URL()+configMaps, "")
		require.NoError(t, err)
		require.Equal(t, code, got)
		var status metav1.Status
		require.NoError(t, json.Unmarshal([]byte(content), &status))
		require.EqualValues(t, code, status.Code)
		require.Equal(t, reasons[code], status.Reason)
		require.Equal(t, code, s.Requests()[len(s.Requests())-1].Code)
		injection.Remove()
	}
	require.Zero(t, b.writes.Load())
}

func TestBeforeRunsWhileTheRequestWaits(t *testing.T) {
	b, s, client := setUp(t)
	var seen int32 = -1
	s.Inject(Rule{Match: Writes, Before: func(Request) { seen = b.writes.Load() }})
	_, _, err := do(t, client, http.MethodPost, s.URL()+configMaps, "")
	require.NoError(t, err)
	require.Zero(t, seen)
	require.EqualValues(t, 1, b.writes.Load())
}

func TestLedgerKeepsTheLastRequests(t *testing.T) {
	l := newLedger()
	for range ledgerLength + 1 {
		l.answered(l.arrived(count.Key{Verb: "get"}, count.Object{}).Number, 200)
	}
	require.Len(t, l.last, ledgerLength/2+1)
	require.Equal(t, ledgerLength+1, l.last[len(l.last)-1].Number)
	require.Equal(t, 200, l.last[0].Code)
	l.answered(1, 500) // long gone
	require.Equal(t, ledgerLength+1, l.counts.Total())
}
