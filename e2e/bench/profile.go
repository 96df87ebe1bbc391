package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ProfileAPIServer writes a processor profile of the API server, over so much time from now on, for go tool pprof.
func (h *Hub) ProfileAPIServer(ctx context.Context, over time.Duration, path string) error {
	content, err := h.Hub.Kube.Discovery().RESTClient().Get().AbsPath("/debug/pprof/profile").
		Param("seconds", strconv.Itoa(int(over.Seconds()))).Timeout(over + time.Minute).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("profile of %s: %w", h.Hub.Name, err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("profile of %s: %w", h.Hub.Name, err)
	}
	return nil
}
