// Package controllers runs the hub: it wires the controllers below it to one set of clients and caches, and runs them
// while this process leads. The order of registration is the order in which handlers of one kind run.
//
// It imports every controller; no controller imports it, or another.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// Options are what a hub is started with.
type Options struct {
	Config   *rest.Config
	Names    names.Namespaces
	Election kube.Election
	// Version is the hub's own, by which it knows its configuration.
	Version string
	// Settings are those of all agents that come from the hub's environment; the configuration adds the rest.
	Settings         agentmanifest.Settings
	DisableBootstrap bool
	TTLRequired      bool
	// Workers are how many objects of a kind are worked on at once, where that is not the default.
	Workers map[schema.GroupVersionKind]int
	// MetricsAddress and HealthAddress say where to serve, which may be the same; "0" serves nothing.
	MetricsAddress, HealthAddress string
	// Clock is the real one unless a test says otherwise.
	Clock clock.WithTicker
	// Registry takes the metrics; nil makes one.
	Registry *prometheus.Registry
}

// Run takes part in the election and runs the hub while it leads. It returns nil when ctx ends, and an error when the
// hub cannot start or the lead is lost. Either way the process is to end at once: the controllers' workers cannot be
// waited for, and one of them may still be inside a handler.
func Run(ctx context.Context, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Registry == nil {
		o.Registry = kube.NewRegistry()
	}
	clients, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	var leads, started atomic.Bool
	stop := serve(ctx, o, &leads, &started)
	defer stop()
	return kube.Lead(ctx, clients, o.Election, func(ctx context.Context) error {
		leads.Store(true)
		logrus.WithFields(logrus.Fields{"namespace": o.Names.System, "identity": o.Election.Identity}).Info("This hub leads")
		return lead(ctx, o, &started)
	})
}

// serve runs the metrics and health endpoints; the returned function waits until they have ended.
func serve(ctx context.Context, o Options, leads, started *atomic.Bool) func() {
	ctx, cancel := context.WithCancel(ctx)
	endpoints := kube.Endpoints{
		MetricsAddress: o.MetricsAddress, Metrics: kube.MetricsHandler(o.Registry),
		HealthAddress: o.HealthAddress, Health: healthHandler(leads, started),
	}
	var serving sync.WaitGroup
	serving.Go(func() { endpoints.Serve(ctx) })
	return func() { cancel(); serving.Wait() }
}

// healthHandler calls a standby ready: it stands by, which is all that is asked of it. A leader is ready once its caches
// are filled.
func healthHandler(leads, started *atomic.Bool) http.Handler {
	return kube.HealthHandler(kube.Checks{}, kube.Checks{"controllers": func() error {
		if leads.Load() && !started.Load() {
			return errors.New("it waits for its configuration, or fills its caches")
		}
		return nil
	}})
}

func lead(ctx context.Context, o Options, started *atomic.Bool) error {
	hub, err := kube.NewHub(ctx, o.Config, kube.HubOptions{SystemNamespace: o.Names.System, UserAgent: o.Config.UserAgent, KindWorkers: o.Workers})
	if err != nil {
		return err
	}
	uid, err := hubUID(ctx, hub)
	if err != nil {
		return err
	}
	background, err := register(ctx, hub, o, uid)
	if ctx.Err() != nil {
		return nil // it was told to stop while it waited for its configuration
	}
	if err != nil {
		return err
	}
	if err := hub.Start(ctx); err != nil {
		return err
	}
	started.Store(true)
	logrus.Info("All controllers run")
	var work sync.WaitGroup
	for _, run := range background {
		work.Go(func() { run(ctx) })
	}
	<-ctx.Done()
	work.Wait()
	return nil
}

func hubUID(ctx context.Context, hub *kube.Hub) (string, error) {
	ns, err := hub.Clients.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the UID of namespace %s, by which agents know this hub: %w", metav1.NamespaceSystem, err)
	}
	return string(ns.UID), nil
}
