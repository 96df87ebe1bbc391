package provenance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	// userAgent names the probe to the API server.
	userAgent = "fleet-provenance-probe"
	// watchStart is how long the first look waits for the watch of the policy.
	watchStart = 5 * time.Second
)

// Deps is what this controller works with.
type Deps struct {
	Clients kubernetes.Interface
	// Config is how the hub reaches its API server.
	Config *rest.Config
	Clock  clock.WithTicker
	Names  names.Namespaces
	// Told hears what was found, for a figure.
	Told func(enforced bool)
	// Events is where people are told.
	Events record.EventRecorder
}

// Proof is what the hub knows of the origin of requests, and keeps up.
type Proof struct {
	server  server
	clock   clock.WithTicker
	told    func(bool)
	tell    func(before, found registration.Provenance)
	watch   func(ctx context.Context, changed func())
	changed chan struct{}

	lock    sync.Mutex
	current registration.Provenance
	// subscribers are called when that becomes another; they are all there before Run.
	subscribers []func()
}

// Register sets the proof up. Nothing is known before its Run.
func Register(deps Deps) (*Proof, error) {
	own, err := kube.ClientsNamed(deps.Config, userAgent)
	if err != nil {
		return nil, fmt.Errorf("proof of the origin of requests: %w", err)
	}
	return newProof(&apiServer{clients: own, config: deps.Config, names: deps.Names}, deps.Clock, deps.Told, announcer(deps.Events, deps.Names),
		func(ctx context.Context, changed func()) {
			wait, cancel := context.WithTimeout(ctx, watchStart)
			defer cancel()
			if !kube.WatchPolicy(ctx, wait, deps.Clients, names.RegistrationPolicy, changed) && ctx.Err() == nil {
				logrus.Warnf("Changes of admission policy %s cannot be watched; the hub looks at it every %s", names.RegistrationPolicy, settled)
			}
		}), nil
}

func newProof(s server, clock clock.WithTicker, told func(bool), tell func(before, found registration.Provenance), watch func(context.Context, func())) *Proof {
	return &Proof{server: s, clock: clock, told: told, tell: tell, watch: watch, changed: make(chan struct{}, 1)}
}

// Current is what is known now.
func (p *Proof) Current() registration.Provenance {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.current
}

// Subscribe has call called when what is known becomes another. It is called before Run.
func (p *Proof) Subscribe(call func()) { p.subscribers = append(p.subscribers, call) }

// Run looks until ctx ends.
func (p *Proof) Run(ctx context.Context) {
	watching, rhythm, failures := false, pace{}, 0
	for {
		seen := observation{}
		seen.served, seen.failure = p.server.served(ctx)
		if seen.served && !watching {
			// Before the look, so that no change is between the two.
			watching = true
			p.watch(ctx, p.noteChange)
		}
		if seen.served && seen.failure == nil {
			seen = observe(ctx, p.server)
		}
		if ctx.Err() != nil {
			return
		}
		failures = countFailures(failures, seen)
		found := decide(seen)
		if !doubtful(found, failures, rhythm) {
			p.apply(found)
		}
		pause, next := rhythm.next(found.Enforced())
		rhythm = next
		if p.rest(ctx, pause) {
			rhythm = afterChange
		}
	}
}

// rest waits for the next look. It says whether a change ended the wait.
func (p *Proof) rest(ctx context.Context, pause time.Duration) (changed bool) {
	timer := p.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-p.changed:
		return true
	}
	return false
}

func (p *Proof) noteChange() {
	select {
	case p.changed <- struct{}{}:
	default: // one look is enough for several
	}
}

// apply keeps what was found and tells it where it is news.
func (p *Proof) apply(found registration.Provenance) {
	p.lock.Lock()
	before := p.current
	p.current = found
	p.lock.Unlock()
	if found == before {
		return
	}
	if found.Enforced() {
		logrus.Infof("The origin of registration requests is checked by admission policy %s", names.RegistrationPolicy)
	} else {
		logrus.Warnf("The origin of registration requests is not known to be checked (%s): %s", found.Reason, found.Message)
	}
	p.told(found.Enforced())
	p.tell(before, found)
	for _, call := range p.subscribers {
		call()
	}
}
