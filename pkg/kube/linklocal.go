package kube

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// ErrLinkLocal is about a connection: the kubeconfig names a host, and the host is such an address.
var ErrLinkLocal = errors.New("cluster.server or cluster.proxy-url of the kubeconfig leads to a link-local address, where a cloud " +
	"serves its machines' own credentials; it is refused")

// isLinkLocal says of an address without a port whether nobody beyond the own link can have it (169.254.0.0/16,
// fe80::/10). A cluster does not live there, and the metadata service of a cloud does.
func isLinkLocal(host string) bool {
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().WithZone("").IsLinkLocalUnicast()
}

// refuseLinkLocal refuses a URL of a kubeconfig that names such an address.
func refuseLinkLocal(field, raw string) error {
	if raw != "" && !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || !isLinkLocal(u.Hostname()) {
		return nil // what is no URL is refused elsewhere
	}
	return errors.New("kubeconfig: " + field + " is a link-local address (169.254.0.0/16, fe80::/10), where a cloud serves its " +
		"machines' own credentials, and is refused: put an address that the cluster is reached at from elsewhere")
}

// dialNoLinkLocal refuses such an address when it is dialled, whatever name led to it.
func dialNoLinkLocal() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: func(_, address string, _ syscall.RawConn) error {
		if host, _, err := net.SplitHostPort(address); err != nil || isLinkLocal(host) {
			return ErrLinkLocal
		}
		return nil
	}}
}
