package shim

import (
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// port is an address that stays ours while nobody listens on it: a socket that is bound and never listens keeps the
// kernel from giving the port to someone else, and clients get "connection refused".
type port struct {
	guard   int
	address string
}

func reservePort() (*port, error) {
	guard, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	p := &port{guard: guard}
	// Both sockets have to allow the reuse; Go's listeners do.
	if err := unix.SetsockoptInt(guard, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		p.release()
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	if err := unix.Bind(guard, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		p.release()
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	name, err := unix.Getsockname(guard)
	if err != nil {
		p.release()
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	bound, ok := name.(*unix.SockaddrInet4)
	if !ok {
		p.release()
		return nil, fmt.Errorf("reserve a port: bound to a %T", name)
	}
	p.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.Port))
	return p, nil
}

func (p *port) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp4", p.address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.address, err)
	}
	return listener, nil
}

func (p *port) release() { unix.Close(p.guard) }
