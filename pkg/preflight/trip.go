package preflight

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"
)

// maxBody is how much of an answer to a first request is read, in bytes.
const maxBody = 64 << 10

// step is what a request is about at a time.
type step string

const (
	stepResolve step = "resolve"
	stepConnect step = "connect"
	// stepTunnel is everything that passes between client and proxy before the server itself is heard.
	stepTunnel step = "tunnel"
	stepTLS    step = "tls"
	stepAnswer step = "answer"
	stepDone   step = "done"
)

// errNoAnswer ends a step that takes too long.
var errNoAnswer = errors.New("no answer in time")

// trip is what was seen of one request.
type trip struct {
	// at is the step at which it ended, stepDone if it came to an answer; err says why.
	at  step
	err error
	// addresses are what the first host's name stands for, connected is the one that took the connection.
	addresses []string
	connected string
	// tunnel is the status with which a proxy answered.
	tunnel string
	tls    *tls.ConnectionState
	tlsErr error

	status         int
	location       string
	date           time.Time
	body           []byte
	sent, received time.Time
}

// traveller makes a request and notes how far it comes. Each step may take as long as limit.
type traveller struct {
	client *http.Client
	// pool is where connections come from, nil where that is not known.
	pool  *http.Transport
	limit time.Duration
	now   func() time.Time
	// proxied says that a proxy is on the way.
	proxied bool
}

// recorder is written by the goroutines of a transport, some of which outlive the request.
type recorder struct {
	mu      sync.Mutex
	trip    trip
	proxied bool
	now     func() time.Time
	again   func()
}

func (r *recorder) note(write func(t *trip)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trip.at == stepDone {
		return
	}
	write(&r.trip)
	r.again()
}

// get asks for a URL once.
func (v *traveller) get(ctx context.Context, target *url.URL) trip {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(v.limit, func() { cancel(errNoAnswer) })
	defer watchdog.Stop()
	r := &recorder{trip: trip{at: stepResolve}, proxied: v.proxied, now: v.now, again: func() { watchdog.Reset(v.limit) }}
	if v.pool != nil {
		v.pool.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			r.note(func(t *trip) { t.tunnel = answer.Status })
			return nil
		}
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, r.hooks()), http.MethodGet, target.String(), nil)
	if err != nil {
		return trip{at: stepResolve, err: err}
	}
	resp, err := v.client.Do(req)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
		resp.Body.Close()
	}
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		err = errNoAnswer
	}
	return r.end(resp, body, err)
}

func (r *recorder) end(resp *http.Response, body []byte, err error) trip {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.trip
	out.addresses = slices.Clone(out.addresses)
	out.err = err
	r.trip.at = stepDone // what comes later is of no interest
	if resp != nil && err == nil {
		out.at, out.body, out.status, out.location = stepDone, body, resp.StatusCode, resp.Header.Get("Location")
		if out.tls == nil {
			out.tls = resp.TLS
		}
		out.date, _ = http.ParseTime(resp.Header.Get("Date"))
	}
	return out
}

func (r *recorder) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { r.note(func(t *trip) { t.at = stepResolve }) },
		DNSDone: func(info httptrace.DNSDoneInfo) {
			r.note(func(t *trip) {
				for _, address := range info.Addrs {
					t.addresses = append(t.addresses, address.String())
				}
			})
		},
		ConnectStart: func(_, address string) { r.note(func(t *trip) { t.at = stepConnect }) },
		ConnectDone: func(_, address string, err error) {
			r.note(func(t *trip) {
				if err != nil {
					return
				}
				t.connected, t.at = address, stepTLS
				if r.proxied {
					t.at = stepTunnel
				}
			})
		},
		TLSHandshakeStart: func() { r.note(func(t *trip) { t.at = stepTLS }) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			r.note(func(t *trip) {
				if t.tlsErr = err; err == nil {
					t.tls, t.at = &state, stepAnswer
				}
			})
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { r.note(func(t *trip) { t.sent = r.now() }) },
		GotFirstResponseByte: func() { r.note(func(t *trip) { t.received = r.now() }) },
	}
}

// isTimeout says that nobody answered, as opposed to a refusal.
func isTimeout(err error) bool {
	var netErr net.Error
	return errors.Is(err, errNoAnswer) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &netErr) && netErr.Timeout()
}
