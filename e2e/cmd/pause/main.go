// Command pause is what the lab's test image runs: by itself it waits to be ended, as the first container of every Pod
// does, and as a container of a test's own it can be asked for a little more.
//
//	pause              wait
//	pause serve [:8080]  answer /healthz
//	pause reach        ask an API server who is asking, print it, and end: with the Pod's own token the cluster's own, or
//	                   the one that REACH_URL, REACH_CA (PEM) and REACH_TOKEN name
//
// It imports the standard library only.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pause:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		<-ctx.Done()
		return nil
	}
	switch args[0] {
	case "serve":
		return serve(ctx, append(args[1:], ":8080")[0])
	case "reach":
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		return reach(ctx, os.Getenv, os.Stdout)
	default:
		return fmt.Errorf("%q is neither serve nor reach", args[0])
	}
}

func serve(ctx context.Context, address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
