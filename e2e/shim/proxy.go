package shim

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rancher/fleet/e2e/certs"
)

// Proxy is a forward proxy that clients name in HTTPS_PROXY or in a kubeconfig's proxy-url. It answers CONNECT, for the
// addresses that it was given a route for and no others.
type Proxy struct {
	server  *http.Server
	url     string
	serving atomic.Pointer[tls.Certificate]
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	routes  map[string]string
	tunnels map[string]int
	conns   map[net.Conn]struct{}
}

// NewProxy listens on a free loopback port: with TLS and a certificate of the authority, or without where that is nil.
func NewProxy(authority *certs.Authority) (*Proxy, error) {
	return NewProxyOn("127.0.0.1", authority)
}

// NewProxyOn listens on a free port of another address of this machine, such as one that Pods reach.
func NewProxyOn(address string, authority *certs.Authority) (*Proxy, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{routes: map[string]string{}, tunnels: map[string]int{}, conns: map[net.Conn]struct{}{}, url: "http://" + listener.Addr().String()}
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	if authority == nil {
		p.running.Go(func() { _ = p.server.Serve(listener) })
		return p, nil
	}
	p.url = "https://" + listener.Addr().String()
	if err := p.SwapCA(authority); err != nil {
		listener.Close()
		return nil, err
	}
	p.server.TLSConfig = &tls.Config{
		NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.serving.Load(), nil },
	}
	p.server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){} // CONNECT is HTTP/1.1
	p.running.Go(func() { _ = p.server.ServeTLS(listener, "", "") })
	return p, nil
}

// SwapCA shows a certificate of another authority from now on, and cuts what is open.
func (p *Proxy) SwapCA(authority *certs.Authority) error {
	pair, err := authority.Server("proxy", certLife, "127.0.0.1", "localhost")
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return fmt.Errorf("certificate of the proxy: %w", err)
	}
	p.serving.Store(&certificate)
	p.Cut()
	return nil
}

// URL is what clients are given.
func (p *Proxy) URL() string { return p.url }

// Route takes connections for an address, host:port, to another: a URL or host:port.
func (p *Proxy) Route(address, target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.routes[address] = strings.TrimPrefix(target, "https://")
}

// Tunnels is how many connections were made so far to each address.
func (p *Proxy) Tunnels() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.tunnels)
}

// Cut ends all tunnels.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
	}
}

// Close ends the proxy and waits until nothing of it runs.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.server.Close()
	p.Cut()
	p.running.Wait()
}

// ServeHTTP answers CONNECT.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	target, known := p.routes[r.Host]
	p.mu.Unlock()
	if r.Method != http.MethodConnect || !known {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		server.Close()
		return
	}
	if !p.add(r.Host, client, server) {
		client.Close()
		server.Close()
		return
	}
	p.running.Go(func() { p.carry(server, client) })
	p.running.Go(func() { p.carry(client, server) })
}

// carry moves one direction, and ends both.
func (p *Proxy) carry(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
	from.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, to)
	delete(p.conns, from)
}

func (p *Proxy) add(address string, conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.tunnels[address]++
	for _, conn := range conns {
		p.conns[conn] = struct{}{}
	}
	return true
}
