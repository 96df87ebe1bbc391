package cases

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
)

// handlerRuns are the runs of each of the hub's handlers so far, from its metrics.
func handlerRuns(t *testing.T, address string) map[string]float64 {
	t.Helper()
	reply, err := http.Get("http://" + address + "/metrics")
	require.NoError(t, err)
	defer reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
	runs := map[string]float64{}
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		name, value, found := strings.Cut(lines.Text(), "} ")
		if !found || !strings.HasPrefix(name, "lasso_controller_total_handler_execution{") {
			continue
		}
		count, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		runs[name] = count
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, runs)
	return runs
}

// Handlers that wake each other cost a processor and not one request: no count of writes sees that. C07, of its kind.
func TestAHubWhoseClustersAreConnectedRests(t *testing.T) {
	b, p := own(t, nil), newPlace()
	require.NoError(t, b.controller.Kill())
	address := stage.FreeAddress(t)
	var err error
	b.controller, err = b.StartController(t.Context(), "--metrics-bind-address", address)
	require.NoError(t, err)
	b.manage(t, p, "edge")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")

	before := handlerRuns(t, address)
	time.Sleep(2 * window) // the window in which hardly anything may happen
	after := handlerRuns(t, address)
	// What belongs to a heartbeat: one agent renews its Lease every two seconds, and a look is ordered at the end of its grace.
	const perHandler = 25
	for name, runs := range after {
		require.LessOrEqual(t, runs-before[name], float64(perHandler), fmt.Sprintf("%s ran %v times in %s", name, runs-before[name], 2*window))
	}
}
