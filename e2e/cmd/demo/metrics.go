package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// checkMetrics takes addresses of this machine's loopback alone: what the demo serves is nobody else's business.
func checkMetrics(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() || at.Port() == 0 {
		return fmt.Errorf("--metrics %q: an address of the loopback with a port is expected, such as 127.0.0.1:8080", address)
	}
	return nil
}

// free refuses an address that is taken. The hub itself would start, and serve there once it is free.
func free(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return refusal(fmt.Sprintf("--metrics %s: %v", address, err))
	}
	return listener.Close()
}

// metricsArgs are the hub's arguments for its metrics.
func metricsArgs(address string) []string {
	if address == "" {
		return nil
	}
	return []string{"--metrics-bind-address", address}
}
