package fetch

import (
	"cmp"
	"net"
	"net/url"

	"helm.sh/helm/v3/pkg/registry"
	orasregistry "oras.land/oras-go/v2/registry"
)

// origin is the server that a bundle names for its chart. The credentials are for it, and for none that it leads to: an
// index may name any address, and so may a redirect.
type origin struct{ scheme, host string }

func originOf(source Source) origin {
	parsed, err := url.Parse(cmp.Or(source.Repo, source.Chart))
	if err != nil {
		return origin{}
	}
	return origin{scheme: parsed.Scheme, host: parsed.Host}
}

// isFrom says whether an address is of that server. A registry is reached over HTTP.
func (o origin) isFrom(address *url.URL) bool {
	if o.scheme == registry.OCIScheme {
		return o.host != "" && withPort(address.Scheme, address.Host) == withPort(address.Scheme, o.registry())
	}
	return o.host != "" && address.Scheme == o.scheme && withPort(address.Scheme, address.Host) == withPort(o.scheme, o.host)
}

// registry is the host by which a client of registries asks for credentials, empty where the chart is in none.
func (o origin) registry() string {
	if o.scheme != registry.OCIScheme && o.scheme != "https" {
		return ""
	}
	return orasregistry.Reference{Registry: o.host}.Host()
}

func withPort(scheme, host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(host, map[string]string{"https": "443", "http": "80"}[scheme])
}
