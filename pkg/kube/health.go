package kube

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Checks are named questions; a check that returns an error fails. A check must not block, and its error must not carry
// a secret: it is answered to whoever asks.
type Checks map[string]func() error

// HealthHandler answers /healthz by the checks of live and /readyz by those of ready: 200 when all pass, else 503, with a
// line for each.
func HealthHandler(live, ready Checks) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", live)
	mux.Handle("GET /readyz", ready)
	return mux
}

// ServeHTTP runs the checks in the order of their names.
func (c Checks) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	status := http.StatusOK
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name](); err != nil {
			status = http.StatusServiceUnavailable
			fmt.Fprintf(&lines, "[-] %s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(&lines, "[+] %s\n", name)
	}
	if lines.Len() == 0 {
		lines.WriteString("ok\n")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(lines.String()))
}
