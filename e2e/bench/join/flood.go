package join

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/agent/hub"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	floodName = "flood"
	// floodAtOnce is how many requests of the flood may be without an answer; what comes due beyond is not sent.
	floodAtOnce = 64
)

// isFlood picks what the flood sends.
var isFlood = count.By(floodName)

// Flood is what somebody with a registration token of the same workspace sent while others joined: requests that wait for
// a person, and lead to nothing.
type Flood struct {
	// Rate is how many came due in a second.
	Rate float64 `json:"rate"`
	// Taken were stored by the API server, Refused were not, Held were not sent, as too many had no answer yet.
	Taken   int `json:"taken"`
	Refused int `json:"refused"`
	Held    int `json:"held"`
}

// startFlood sends until stop is called, which returns what was sent.
func startFlood(ctx context.Context, h *bench.Hub, rate float64) (stop func() (*Flood, error), err error) {
	values, err := h.NewToken(ctx, stage.Workspace, floodName, fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: 2 * bench.Limit}, RequireApproval: true,
	})
	if err != nil {
		return nil, err
	}
	o, err := orderOf(values)
	if err != nil {
		return nil, err
	}
	client, err := hub.Dial(o.kubeconfig, kube.TLSStrict, floodName)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := flood{order: o, client: client}
	var running errgroup.Group
	running.Go(func() error { return f.run(ctx, rate) })
	return func() (*Flood, error) {
		cancel()
		defer client.Close()
		if err := running.Wait(); err != nil {
			return nil, err
		}
		return &Flood{Rate: rate, Taken: int(f.taken.Load()), Refused: int(f.refused.Load()), Held: int(f.held.Load())}, nil
	}, nil
}

type flood struct {
	order                order
	client               *hub.Client
	taken, refused, held atomic.Int64
}

func (f *flood) run(ctx context.Context, rate float64) error {
	var senders errgroup.Group
	senders.SetLimit(floodAtOnce)
	defer func() { _ = senders.Wait() }()
	due := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer due.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
		}
		request, err := f.request(n)
		if err != nil {
			return err
		}
		if !senders.TryGo(func() error { f.send(ctx, request); return nil }) {
			f.held.Add(1)
		}
	}
}

func (f *flood) send(ctx context.Context, request *fleet.ClusterRegistration) {
	err := f.client.CreateRequest(ctx, request)
	switch {
	case err == nil:
		f.taken.Add(1)
	case !errors.Is(ctx.Err(), context.Canceled):
		f.refused.Add(1)
	}
}

func (f *flood) request(n int) (*fleet.ClusterRegistration, error) {
	name, err := registration.RequestName(rand.Reader)
	if err != nil {
		return nil, err
	}
	random, err := registration.Random(rand.Reader)
	return &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.order.ClusterNamespace, Name: name,
			Labels: map[string]string{names.RegistrationTokenLabel: f.order.TokenName},
		},
		Spec: fleet.ClusterRegistrationSpec{ClientID: fmt.Sprintf("%s-%d", floodName, n), ClientRandom: random},
	}, err
}
