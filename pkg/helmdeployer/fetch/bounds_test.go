package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const soon = 30 * time.Second

// shop serves an index that is as large as it is asked for in the path, and its chart.
func shop(t *testing.T) (server *httptest.Server, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	packed := archive(t, "1.2.0")
	mux := http.NewServeMux()
	serve := func(path string, size int) {
		mux.HandleFunc(path+"/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			_, _ = w.Write([]byte("apiVersion: v1\nentries:\n  app:\n  - {name: app, version: 1.2.0, apiVersion: v2, urls: [app-1.2.0.tgz]}\n# "))
			_, _ = w.Write([]byte(strings.Repeat("x", size)))
		})
		mux.HandleFunc(path+"/app-1.2.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	}
	serve("/small", 10)
	serve("/large", 2*small)
	serve("/huge", maxIndex)
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, asked
}

// freely says that nobody has a turn any more.
func freely(t *testing.T) {
	t.Helper()
	require.True(t, large.TryAcquire(turns), "a turn was not given back")
	large.Release(turns)
	require.True(t, parsing.TryAcquire(maxIndex), "room to read indexes was not given back")
	parsing.Release(maxIndex)
}

// Repositories that send much take turns, and hold up no small one.
func TestLargeFetchesTakeTurns(t *testing.T) {
	server, asked := shop(t)
	require.NoError(t, large.Acquire(t.Context(), turns))
	const fetches = 2 * turns
	done := make(chan error, fetches)
	for range fetches {
		go func() {
			_, err := Chart(t.Context(), Source{Repo: server.URL + "/large", Chart: "app"}, Access{})
			done <- err
		}()
	}
	require.Eventually(t, func() bool { return asked.Load() == fetches }, soon, time.Millisecond)
	_, err := Chart(t.Context(), Source{Repo: server.URL + "/small", Chart: "app"}, Access{})
	require.NoError(t, err, "what is small waits for nobody")
	select {
	case err := <-done:
		t.Fatalf("it had no turn: %v", err)
	case <-time.After(100 * time.Millisecond): // the window in which it would end
	}
	large.Release(turns)
	for range fetches {
		require.NoError(t, <-done)
	}
	freely(t)
}

func TestAFetchThatEndsWhileItWaitsForItsTurnLeavesNothing(t *testing.T) {
	server, asked := shop(t)
	require.NoError(t, large.Acquire(t.Context(), turns))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Chart(ctx, Source{Repo: server.URL + "/large", Chart: "app"}, Access{})
		done <- err
	}()
	require.Eventually(t, func() bool { return asked.Load() == 1 }, soon, time.Millisecond)
	cancel()
	require.Error(t, <-done)
	large.Release(turns)
	freely(t)
}

func TestWhatIsTooLargeIsNotFetched(t *testing.T) {
	server, _ := shop(t)
	_, err := Chart(t.Context(), Source{Repo: server.URL + "/huge", Chart: "app"}, Access{})
	require.ErrorContains(t, err, fmt.Sprintf("it is larger than %d bytes", maxIndex))
	freely(t)
}

// pack makes an archive of files that hold nothing, by their sizes.
func pack(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tarred := tar.NewWriter(zipped)
	for name, data := range files {
		require.NoError(t, tarred.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}))
		_, err := tarred.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, tarred.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

// An archive is small, and may be made to become large, by the charts in it too.
func TestChartsThatBecomeTooLargeAreRefused(t *testing.T) {
	info := []byte("apiVersion: v2\nname: app\nversion: 1.0.0\n")
	zeros := make([]byte, 4<<20)
	many := func(size int) map[string][]byte {
		files := map[string][]byte{"app/Chart.yaml": info}
		for i := range size / len(zeros) {
			files[fmt.Sprintf("app/files/%d", i)] = zeros
		}
		return files
	}
	nested := map[string][]byte{"app/Chart.yaml": info}
	for i := range 4 {
		nested[fmt.Sprintf("app/charts/%d.tgz", i)] = pack(t, many(maxUnpacked/4))
	}
	deep := pack(t, map[string][]byte{"app/Chart.yaml": info})
	for range maxNested + 1 {
		deep = pack(t, map[string][]byte{"app/Chart.yaml": info, "app/charts/inner.tgz": deep})
	}
	for name, test := range map[string]struct {
		archive []byte
		refused string
		turn    bool
	}{
		"small":    {archive: pack(t, map[string][]byte{"app/Chart.yaml": info})},
		"large":    {archive: pack(t, many(2*smallUnpacked)), turn: true},
		"too much": {archive: pack(t, many(maxUnpacked+len(zeros))), refused: errChart.Error()},
		"nested":   {archive: pack(t, nested), refused: errChart.Error()},
		"deep":     {archive: deep, refused: "more than 5 deep"},
		"no chart": {archive: []byte("surely not")},
	} {
		t.Run(name, func(t *testing.T) {
			require.Less(t, len(test.archive), small)
			f, err := newFetcher(t.Context(), Source{}, Access{})
			require.NoError(t, err)
			err = f.fits(test.archive)
			if test.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.refused)
			}
			assert.Equal(t, test.turn, f.hasTurn)
			f.close()
			freely(t)
		})
	}
}
