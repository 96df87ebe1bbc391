package shim

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// TCP passes bytes through to a server and can harm the connections. Its methods may be called from several goroutines.
type TCP struct {
	gate    *gate
	dial    func() (net.Conn, error)
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	target   string
	port     *port
	former   []*port // addresses that were left: still ours, so that they refuse
	listener net.Listener
	links    map[*link]struct{}
	accepted int
	latency  time.Duration
}

// NewTCP listens on a free loopback port and passes connections to the target, a URL or host:port.
func NewTCP(target string) (*TCP, error) {
	s := newFront(target)
	s.dial = func() (net.Conn, error) { return net.Dial("tcp", s.targetAddress()) }
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

func newFront(target string) *TCP {
	return &TCP{gate: newGate(), target: target, links: map[*link]struct{}{}}
}

func (s *TCP) open() error {
	p, err := reservePort()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.port = p
	if err := s.listen(); err != nil {
		p.release()
		return err
	}
	return nil
}

// URL is the address for clients; it changes with Move only.
func (s *TCP) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "https://" + s.port.address
}

// Pass lets everything through, what was held up, too.
func (s *TCP) Pass() error {
	s.gate.set(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listen()
}

// Refuse answers like a host where nothing listens ("connection refused") and resets the open connections.
func (s *TCP) Refuse() {
	s.mu.Lock()
	s.stopListening()
	s.mu.Unlock()
	s.Cut()
}

// BlackHole accepts connections and never answers; on open ones nothing moves any more. Pass lets the traffic go on.
func (s *TCP) BlackHole() error {
	s.gate.set(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listen()
}

// Slow adds this round-trip time to all connections, half in each direction, and once to the opening of new ones; 0 ends
// it.
func (s *TCP) Slow(roundTrip time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = roundTrip
}

// Cut resets all open connections, watches in the middle of a stream among them. New ones are served as before.
func (s *TCP) Cut() {
	for _, l := range s.openLinks() {
		l.end(true)
	}
}

// Move gives up the address for a new one: the old one refuses from now on, its connections are reset.
func (s *TCP) Move() error {
	p, err := reservePort()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.stopListening()
	s.former = append(s.former, s.port)
	s.port = p
	err = s.listen()
	s.mu.Unlock()
	s.Cut()
	return err
}

// Open is the number of clients' connections that are open.
func (s *TCP) Open() int { return len(s.openLinks()) }

// Accepted is the number of all connections that were accepted since the start.
func (s *TCP) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Retarget sends new connections to another server; open ones stay where they are.
func (s *TCP) Retarget(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = target
}

// Close ends the shim and waits until nothing of it runs.
func (s *TCP) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.stopListening()
	for _, p := range append(s.former, s.port) {
		p.release()
	}
	s.mu.Unlock()
	s.Cut()
	s.running.Wait()
}

// listen and stopListening need the lock.
func (s *TCP) listen() error {
	if s.closed {
		return errors.New("the shim is closed")
	}
	if s.listener != nil {
		return nil
	}
	listener, err := s.port.listen()
	if err != nil {
		return err
	}
	s.listener = listener
	s.running.Go(func() { s.accept(listener) })
	return nil
}

func (s *TCP) stopListening() {
	if s.listener != nil {
		s.listener.Close()
		s.listener = nil
	}
}

func (s *TCP) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return // closed by us; a loopback listener has no other reason
		}
		l := &link{shim: s, client: client, done: make(chan struct{})}
		if !s.add(l, listener) {
			l.end(true)
			continue
		}
		s.running.Go(func() {
			defer s.remove(l)
			l.run()
		})
	}
}

// add takes a connection on, unless its listener was closed after it was accepted.
func (s *TCP) add(l *link, listener net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.listener != listener {
		return false
	}
	s.accepted++
	s.links[l] = struct{}{}
	return true
}

func (s *TCP) remove(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l)
}

func (s *TCP) openLinks() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*link
	for l := range s.links {
		out = append(out, l)
	}
	return out
}

func (s *TCP) oneWay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latency / 2
}

func (s *TCP) targetAddress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimPrefix(s.target, "https://")
}

func (s *TCP) dialBackend() (net.Conn, error) {
	conn, err := s.dial()
	if err != nil {
		return nil, fmt.Errorf("connect to the server behind the shim: %w", err)
	}
	return conn, nil
}
