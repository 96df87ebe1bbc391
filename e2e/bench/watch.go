package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// WatchEvents is how many events the API server has sent to watchers since its start.
func (h *Hub) WatchEvents(ctx context.Context) (float64, error) {
	text, err := h.Hub.Kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", h.Hub.Name, err)
	}
	return sumMetric(text, "apiserver_watch_events_total")
}

// sumMetric adds up the series of a metric in the text format.
func sumMetric(text []byte, name string) (float64, error) {
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name+"{")
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, '}')+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += value
	}
	return sum, nil
}
