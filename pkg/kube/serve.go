package kube

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	bindRetry       = 5 * time.Second
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

// Serve answers on addr until ctx is done, and blocks so long. A port that is taken is no failure: on a node's own network
// the old process may still hold it while the new one starts, so it is tried again until it is free, and said once.
// An addr of "" or "0" switches it off.
func Serve(ctx context.Context, addr string, handler http.Handler) {
	serve(ctx, addr, handler, bindRetry)
}

func serve(ctx context.Context, addr string, handler http.Handler, retry time.Duration) {
	if addr == "" || addr == "0" {
		return
	}
	listener := bind(ctx, addr, retry)
	if listener == nil {
		return
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if server.Shutdown(graceful) != nil {
			_ = server.Close()
		}
	}()
	logrus.Infof("Serving on %s", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		logrus.Errorf("Serving on %s ended: %v", addr, err)
	}
	<-ctx.Done()
	<-stopped
}

// bind waits for the port; nil when ctx ended first.
func bind(ctx context.Context, addr string, retry time.Duration) net.Listener {
	var config net.ListenConfig
	for said := false; ; said = true {
		listener, err := config.Listen(ctx, "tcp", addr)
		if err == nil {
			return listener
		}
		if !said && ctx.Err() == nil {
			logrus.Warnf("Cannot listen on %s, trying again every %s: %v", addr, retry, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
	}
}
