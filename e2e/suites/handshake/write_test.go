package handshake

import (
	"fmt"
	"strings"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// The servers of a bed.
const (
	atHub  = "hub"
	atEdge = "edge"
)

// User agents of the product.
const (
	controllerAgent = "fleet-controller"
	fleetAgent      = "fleet-agent"
)

// writeKind is who writes what where.
type writeKind struct {
	by, at, verb, resource string
}

// String is "verb resource at server by client".
func (k writeKind) String() string {
	return fmt.Sprintf("%s %s at %s by %s", k.verb, k.resource, k.at, k.by)
}

// write is one write of a handshake, known again in every run of it: the how-manieth of its kind on this object.
type write struct {
	writeKind
	object string
	nth    int
}

func (w write) String() string { return fmt.Sprintf("%s, %s, no. %d", w.writeKind, w.object, w.nth) }

// kindOf is false for a request that is no step of a handshake: a read, a question to the authorizer, an event, which is
// sent beside the work and may be lost, and the renewal of an election, which comes at any time.
func kindOf(at string, request shim.Request) (writeKind, bool) {
	key := request.Key
	if !key.Write() || count.Events(key) || count.Reviews(key) || !count.By(controllerAgent)(key) && !count.By(fleetAgent)(key) {
		return writeKind{}, false
	}
	if count.Leases(key) && key.Verb == "update" && isElection(request.Object) {
		return writeKind{}, false
	}
	resource := key.Resource
	if key.Subresource != "" {
		resource += "/" + key.Subresource
	}
	return writeKind{by: key.UserAgent, at: at, verb: key.Verb, resource: resource}, true
}

func isElection(object count.Object) bool {
	if object.Name == names.ControllerLease {
		return object.Namespace == stage.SystemNamespace
	}
	return object.Name == names.AgentElectionLease && strings.HasPrefix(object.Namespace, agentsPrefix)
}

// counter finds out which write a request is.
type counter struct {
	at   string
	seen map[write]int
}

func newCounter(at string) *counter { return &counter{at: at, seen: map[write]int{}} }

// next is the write that a request is; requests have to be shown in the order of their arrival.
func (c *counter) next(request shim.Request) (write, bool) {
	kind, ok := kindOf(c.at, request)
	if !ok {
		return write{}, false
	}
	w := write{writeKind: kind, object: disguise(request.Namespace + "/" + request.Name)}
	c.seen[w]++
	w.nth = c.seen[w]
	// The first heartbeat is a step of the handshake, all others are like it.
	return w, w.nth == 1 || !count.Leases(request.Key) || w.verb != "update"
}

// writesOf are those among requests, in their order.
func writesOf(at string, requests []shim.Request) []write {
	c := newCounter(at)
	var out []write
	for _, request := range requests {
		if w, ok := c.next(request); ok {
			out = append(out, w)
		}
	}
	return out
}

// isWrite picks one write of the requests from now on.
func isWrite(w write) func(shim.Request) bool {
	c := newCounter(w.at)
	return func(request shim.Request) bool {
		now, ok := c.next(request)
		return ok && now == w
	}
}
