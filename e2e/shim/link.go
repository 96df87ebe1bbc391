package shim

import (
	"net"
	"sync"
	"time"
)

const (
	// chunkSize and chunksInFlight bound what one direction of a slow connection holds.
	chunkSize      = 32 << 10
	chunksInFlight = 256
)

// link is one client's connection and its counterpart towards the server.
type link struct {
	shim    *TCP
	client  net.Conn
	done    chan struct{}
	endOnce sync.Once

	mu      sync.Mutex
	backend net.Conn
}

// run carries bytes both ways until both sides have ended or the link is cut.
func (l *link) run() {
	defer l.end(false)
	if !l.shim.gate.wait(l.done) {
		return
	}
	// TCP's own handshake takes a round trip as well, which a connection to the loopback address does not show.
	if !l.sleepUntil(time.Now().Add(2 * l.shim.oneWay())) {
		return
	}
	backend, err := l.shim.dialBackend()
	if err != nil {
		l.end(true) // a server that is down, seen through a forwarder
		return
	}
	l.mu.Lock()
	l.backend = backend
	l.mu.Unlock()
	select {
	case <-l.done: // cut while it was dialled
		backend.Close()
		return
	default:
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(backend, l.client) })
	both.Go(func() { l.carry(l.client, backend) })
	both.Wait()
}

// end closes both sides, the client's with a reset if it is to look like a broken connection.
func (l *link) end(reset bool) {
	l.endOnce.Do(func() {
		close(l.done)
		if tcp, ok := l.client.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		l.client.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.backend != nil {
			l.backend.Close()
		}
	})
}

// chunk is what was read at once, and when the other side may see it. One without data is the end of the stream.
type chunk struct {
	due  time.Time
	data []byte
}

// carry moves one direction. Reading and writing are apart, so that latency does not cost throughput.
func (l *link) carry(to, from net.Conn) {
	chunks := make(chan chunk, chunksInFlight)
	var reader sync.WaitGroup
	reader.Go(func() { l.read(from, chunks) })
	l.write(to, chunks)
	reader.Wait()
}

func (l *link) read(from net.Conn, chunks chan<- chunk) {
	defer close(chunks)
	for {
		buffer := make([]byte, chunkSize)
		n, err := from.Read(buffer)
		next := chunk{due: time.Now().Add(l.shim.oneWay()), data: buffer[:n]}
		if n > 0 {
			select {
			case chunks <- next:
			case <-l.done:
				return
			}
		}
		if err != nil {
			select {
			case chunks <- chunk{due: next.due}:
			case <-l.done:
			}
			return
		}
	}
}

func (l *link) write(to net.Conn, chunks <-chan chunk) {
	for next := range chunks {
		if !l.sleepUntil(next.due) || !l.shim.gate.wait(l.done) {
			l.end(true)
			continue // drain, so that the reader is not stuck
		}
		if len(next.data) == 0 {
			closeWrite(to)
			continue
		}
		if _, err := to.Write(next.data); err != nil {
			l.end(true)
		}
	}
}

func (l *link) sleepUntil(due time.Time) bool {
	left := time.Until(due)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// closeWrite passes on the end of one direction where the connection can tell directions apart.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	conn.Close()
}
