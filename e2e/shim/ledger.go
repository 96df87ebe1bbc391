package shim

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rancher/fleet/e2e/count"
)

// ledgerLength bounds the list of single requests; the counts have no bound.
const ledgerLength = 10_000

// Request is one request that arrived at the shim.
type Request struct {
	// Number counts from 1.
	Number int
	Time   time.Time
	count.Key
	count.Object
	// Code of the answer; 0 while there is none or if the connection broke.
	Code int
}

// String is a line for the message of a failed test.
func (r Request) String() string {
	name := r.Object.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	return fmt.Sprintf("#%d %s %s %s -> %d", r.Number, r.Time.Format("15:04:05.000"), r.Key, name, r.Code)
}

// ledger keeps count of what arrived.
type ledger struct {
	mu     sync.Mutex
	counts count.Counts
	last   []Request
	number int
}

func newLedger() ledger { return ledger{counts: count.Counts{}} }

func (l *ledger) arrived(key count.Key, object count.Object) Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number++
	l.counts[key]++
	request := Request{Number: l.number, Time: time.Now(), Key: key, Object: object}
	if len(l.last) >= ledgerLength {
		l.last = slices.Delete(l.last, 0, ledgerLength/2)
	}
	l.last = append(l.last, request)
	return request
}

func (l *ledger) answered(number, code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.number - len(l.last) + 1
	if i := number - first; i >= 0 {
		l.last[i].Code = code
	}
}

// Counts is how many requests of each kind have arrived since the start, a watch counted once.
func (s *TLS) Counts() count.Counts {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return maps.Clone(s.ledger.counts)
}

// Requests are the last requests that arrived, in order; some thousands at most.
func (s *TLS) Requests() []Request {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return slices.Clone(s.ledger.last)
}
