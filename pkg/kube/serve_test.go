package kube

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// On the host network the old pod still has the port while the new one starts.
func TestATakenPortIsBoundLater(t *testing.T) {
	logs := captureLogs(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := taken.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serve(ctx, addr, HealthHandler(nil, nil), 10*time.Millisecond)
	}()
	require.Eventually(t, func() bool { return strings.Contains(logs.String(), "Cannot listen on "+addr) }, deadlineFor, time.Millisecond)
	time.Sleep(100 * time.Millisecond) // the window in which it would be said again
	assert.Equal(t, 1, strings.Count(logs.String(), "Cannot listen"))

	require.NoError(t, taken.Close())

	require.Eventually(t, func() bool { code, _ := get(t, "http://"+addr+"/healthz"); return code == http.StatusOK }, deadlineFor, 10*time.Millisecond)
	cancel()
	receive(t, ended, "the end of serving")
	_, err = net.DialTimeout("tcp", addr, time.Second)
	assert.Error(t, err, "the port is free again")
}

func TestServingEndsWithItsContextWhileItWaitsForThePort(t *testing.T) {
	quiet(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); Serve(ctx, taken.Addr().String(), http.NotFoundHandler()) }()

	cancel()

	receive(t, ended, "the end of serving")
}

func TestServingCanBeSwitchedOff(_ *testing.T) {
	Serve(context.Background(), "", nil)
	Serve(context.Background(), "0", nil)
}

func TestHealthAnswersByNamedChecks(t *testing.T) {
	ready := errors.New("no word from the hub yet")
	handler := HealthHandler(
		Checks{"alive": func() error { return nil }},
		Checks{"hub": func() error { return ready }, "cache": func() error { return nil }},
	)
	ask := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Code, recorder.Body.String()
	}

	code, body := ask("/healthz")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "[+] alive\n", body)
	code, body = ask("/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Equal(t, "[+] cache\n[-] hub: no word from the hub yet\n", body)

	ready = nil
	code, _ = ask("/readyz")
	assert.Equal(t, http.StatusOK, code)
	code, _ = ask("/metrics")
	assert.Equal(t, http.StatusNotFound, code)
}

func TestMetricsShowQueuesAndControllers(t *testing.T) {
	registry := NewRegistry()
	done := make(chan struct{}, 1)
	name := "foreign-calls-" + rand.Text() // the metrics are the process's, whatever ran before
	q := NewQueue(name, 1, time.Millisecond, time.Second, func(context.Context, string) error {
		done <- struct{}{}
		return nil
	})
	stop := run(t, q)
	q.Add("k")
	receive(t, done, "the work")
	stop()
	recorder := httptest.NewRecorder()

	MetricsHandler(registry).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))

	assert.Equal(t, http.StatusOK, recorder.Code)
	for _, part := range []string{`workqueue_adds_total{name="` + name + `"} 1`, "go_goroutines", "process_resident_memory_bytes"} {
		assert.True(t, strings.Contains(recorder.Body.String(), part), "no %s", part)
	}
}

// captureLogs collects what is logged from warning on.
func captureLogs(t *testing.T) *lockedBuffer {
	t.Helper()
	out := &lockedBuffer{}
	logrus.SetOutput(out)
	level := logrus.GetLevel()
	logrus.SetLevel(logrus.WarnLevel)
	t.Cleanup(func() {
		logrus.SetOutput(os.Stderr)
		logrus.SetLevel(level)
	})
	return out
}

type lockedBuffer struct {
	lock sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.data.String()
}
