package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"helm.sh/helm/v3/pkg/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
)

const (
	callTimeout  = 2 * time.Minute
	dialTimeout  = 10 * time.Second
	maxRedirects = 5
)

// fetcher is one fetch: its connections, trust and credentials are nobody else's.
type fetcher struct {
	access Access
	// origin is what the credentials are for.
	origin origin
	http   *http.Client
	pool   *http.Transport
	// ctx is that of the fetch: what it has begun ends with it.
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// received is how much it was sent, hasTurn says that it has its turn among the large ones.
	received        int64
	hasTurn, closed bool
}

func newFetcher(ctx context.Context, source Source, access Access) (*fetcher, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: access.InsecureSkipTLSVerify} //nolint:gosec // the user's choice
	if len(access.CABundle) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("reading the system's root certificates: %w", err)
		}
		if !roots.AppendCertsFromPEM(access.CABundle) {
			return nil, errors.New("the CA bundle of the chart's repository holds no certificate: it must be PEM")
		}
		settings.RootCAs = roots
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Control: refuseLinkLocal}
	pool := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSClientConfig: settings,
		TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true,
	}
	f := &fetcher{access: access, origin: originOf(source), pool: pool}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.http = &http.Client{Transport: bounded{pool, f}, Timeout: callTimeout, CheckRedirect: f.checkRedirect}
	return f, nil
}

// refuseLinkLocal keeps bundles away from the metadata services of clouds, which give whoever asks the node's credentials.
func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %.80q cannot be read", address)
	}
	if ip := at.Addr().Unmap(); ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
		return errors.New("charts are not fetched from link-local addresses")
	}
	return nil
}

func (f *fetcher) checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case req.URL.Scheme != "https" && via[0].URL.Scheme == "https":
		return errors.New("it redirects from https to a connection without TLS")
	case !f.origin.isFrom(req.URL):
		// net/http lets them go along to another port, and to hosts below the first one.
		req.Header.Del("Authorization")
	}
	return nil
}

// bounded cuts answers that are too long to be a chart or an index, and counts all of them.
type bounded struct {
	next  http.RoundTripper
	fetch *fetcher
}

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err == nil {
		body := counted{resp.Body, b.fetch}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(body, maxIndex+1), body}
	}
	return resp, err
}

// fromRegistry pulls a chart of an OCI registry.
func (f *fetcher) fromRegistry(ctx context.Context, address, version string) ([]byte, error) {
	options := []registry.ClientOption{registry.ClientOptHTTPClient(f.http), registry.ClientOptAuthorizer(f.authorizer())}
	if f.access.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("a client for the registry: %w", err)
	}
	ref := strings.TrimSuffix(strings.TrimPrefix(address, registry.OCIScheme+"://"), "/")
	// Helm's client knows no context: it runs on, bounded by the client's timeout, when this one ends.
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := pull(client, ref, version)
		done <- answer{data, err}
	}()
	select {
	case got := <-done:
		return got.data, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func pull(client *registry.Client, ref, version string) ([]byte, error) {
	tag := version
	if !isExact(version) {
		tags, err := client.Tags(ref)
		if err != nil {
			return nil, fmt.Errorf("listing the versions: %w", plain(err))
		}
		if tag, err = registry.GetTagMatchingVersionOrConstraint(tags, version); err != nil {
			return nil, err
		}
	}
	result, err := client.Pull(ref+":"+tag, registry.PullOptWithChart(true))
	if err != nil {
		return nil, plain(err)
	}
	if result.Chart == nil || len(result.Chart.Data) > maxChart {
		return nil, fmt.Errorf("it is no chart, or larger than %d bytes", maxChart)
	}
	return result.Chart.Data, nil
}

// isExact says whether a text is one version and no range of them.
func isExact(version string) bool {
	return version != "" && !strings.ContainsAny(version, "<>=~^*xX| ,") && strings.Count(version, ".") >= 2
}

// authorizer has the given credentials and no others: none of the process's user, and none of the machine's.
func (f *fetcher) authorizer() auth.Client {
	client := auth.Client{Client: f.http, Cache: auth.NewCache()}
	client.Credential = func(_ context.Context, host string) (auth.Credential, error) {
		if f.access.Username == "" || host != f.origin.registry() {
			return auth.EmptyCredential, nil
		}
		return auth.Credential{Username: f.access.Username, Password: f.access.Password}, nil
	}
	return client
}
