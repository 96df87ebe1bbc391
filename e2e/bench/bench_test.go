package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuantilesAreMeasuredValues(t *testing.T) {
	var durations []time.Duration
	for i := 100; i > 0; i-- {
		durations = append(durations, time.Duration(i))
	}
	require.EqualValues(t, 50, Quantile(durations, 0.50))
	require.EqualValues(t, 99, Quantile(durations, 0.99))
	require.EqualValues(t, 100, Quantile(durations, 1))
	require.EqualValues(t, 1, Quantile(durations, 0))
	require.EqualValues(t, 100, durations[0], "the caller's list stays as it is")
	require.EqualValues(t, 7, Quantile([]time.Duration{7}, 0.99))
	require.Zero(t, Quantile(nil, 0.5))
}

func TestSpreadHasMeasuredValues(t *testing.T) {
	require.Equal(t, Spread{Min: 1, Median: 2, Max: 9}, SpreadOf([]float64{9, 1, 2}))
	require.Equal(t, Spread{Min: 1, Median: 2, Max: 9}, SpreadOf([]float64{9, 1, 2, 3}))
	require.Equal(t, Spread{}, SpreadOf(nil))
}

func TestUsageIsReadFromProc(t *testing.T) {
	stat := "12 (a) name) S 1 1 1 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 12345 0 0"
	status := "Name:\ta\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"
	use, err := parseUsage([]byte(stat), []byte(status))
	require.NoError(t, err)
	require.Equal(t, Usage{CPU: 2, RSS: 1, Peak: 2}, use)
	require.Equal(t, Usage{CPU: 1.5, RSS: 1, Peak: 2}, use.Since(Usage{CPU: 0.5, RSS: 7, Peak: 8}))

	_, err = parseUsage([]byte("12 (a) S"), []byte(status))
	require.Error(t, err)
	_, err = parseUsage([]byte(stat), []byte("Name:\ta\n"))
	require.ErrorContains(t, err, "Vm", "a process that has ended has no memory")

	own, err := UsageOf(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, own.RSS)
}

func TestBusyTimeLeavesIdleTimeOut(t *testing.T) {
	busy, err := parseBusy([]byte("cpu  100 20 30 9999 8888 4 5 6 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"))
	require.NoError(t, err)
	require.InDelta(t, 1.65, busy, 1e-9)
	_, err = parseBusy([]byte("intr 1\n"))
	require.Error(t, err)
}

func TestMetricsAreAddedUp(t *testing.T) {
	text := "# TYPE a counter\na{x=\"1\"} 2\na{x=\"}\"} 3.5e+01\na_b{x=\"1\"} 9\n"
	sum, err := sumMetric([]byte(text), "a")
	require.NoError(t, err)
	require.InDelta(t, 37, sum, 1e-9)
	_, err = sumMetric([]byte("a{x=\"1\"} many\n"), "a")
	require.Error(t, err)
}

func TestSectionsAreReplacedAndOthersStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	for _, section := range [][2]string{{"join", "old"}, {"fanout", "other"}, {"join", "\nnew\n"}} {
		require.NoError(t, UpdateSection(path, section[0], section[1]))
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "<!-- join:begin -->\nnew\n<!-- join:end -->\n\n<!-- fanout:begin -->\nother\n<!-- fanout:end -->\n", string(content))

	require.NoError(t, os.WriteFile(path, []byte("<!-- join:begin -->\nby hand"), 0o600))
	require.ErrorContains(t, UpdateSection(path, "join", "new"), "join:end")
}

func TestVerdictsAreOnTheMedian(t *testing.T) {
	for _, test := range []struct {
		b      Budget
		median float64
		want   string
	}{
		{Budget{Value: 25, AtLeast: true}, 30, "met"},
		{Budget{Value: 25, AtLeast: true}, 20, "missed by 20 %"},
		{Budget{Value: 18}, 18, "met"},
		{Budget{Value: 18}, 27, "missed by 50 %"},
		{Budget{}, 0, "met"},
		{Budget{}, 0.1, "missed"},
	} {
		require.Equal(t, test.want, test.b.Verdict(Spread{Min: 1, Median: test.median, Max: 100}))
	}
}

func TestProcessorsBoundTheRate(t *testing.T) {
	// 10 joins cost 5 s of all processors' time.
	bound := CPUBound(10, 10*time.Second, map[string]float64{"a": 0.3, "b": 0.2})
	require.InDelta(t, 2*float64(runtime.NumCPU()), bound, 1e-9)
}
