package stage

import (
	"errors"
	"sync"
	"testing"

	"github.com/rancher/fleet/e2e/lab"
)

// SharedBed is what the tests of a package share, such as a hub with its controller: the first test that needs it starts it.
// Its tests keep to workspaces of their own.
type SharedBed[B any] struct {
	once sync.Once
	bed  *B
}

// Of returns the bed, started by start if no test has done so. Where that has failed, every other test fails at once.
func (s *SharedBed[B]) Of(t testing.TB, start func() *B) *B {
	t.Helper()
	s.once.Do(func() { s.bed = start() })
	if s.bed == nil {
		t.Fatal("what this test shares with others did not start; see the first test that needed it")
	}
	return s.bed
}

// SharedPlane is a control plane that the tests of a package share, by name.
type SharedPlane struct {
	Name    string
	Options []lab.Option
}

// Audited is a shared control plane with an audit log.
func Audited(name string, more ...lab.Option) SharedPlane {
	return SharedPlane{Name: name, Options: append([]lab.Option{lab.WithAudit()}, more...)}
}

// SharedClusters starts control planes, all at once, which then stay until the package's tests have ended; those that run
// already are returned as they are.
func SharedClusters(t testing.TB, planes ...SharedPlane) []*Cluster {
	t.Helper()
	clusters := make([]*Cluster, len(planes))
	errs := make([]error, len(planes))
	var all sync.WaitGroup
	for i, p := range planes {
		all.Go(func() { clusters[i], errs[i] = Attach(lab.Shared(t, p.Name, p.Options...)) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v", err)
	}
	for i, c := range clusters {
		if c == nil { // lab.Shared has ended its goroutine, and said why
			t.Fatalf("control plane %s did not start", planes[i].Name)
		}
	}
	return clusters
}

// HubAndEdge are the two clusters that most suites share: a hub, on which nothing is installed yet, and a downstream
// cluster. Both write audit logs.
func HubAndEdge(t testing.TB) (hub *Stage, edge *Cluster) {
	t.Helper()
	clusters := SharedClusters(t, Audited("hub"), Audited("edge"))
	hub, err := NewForSuite(clusters[0].ControlPlane)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return hub, clusters[1]
}
