package preflight

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/version"

	"github.com/rancher/fleet/pkg/kube"
)

// failedAt says whether a trip ended at a step.
func (t trip) failedAt(s step) bool { return t.err != nil && t.at == s }

// decideResolve judges the look-up of a host's name.
func decideResolve(host string, proxied bool, t trip, words wording) finding {
	switch {
	case proxied:
		return skip("the proxy looks the name up")
	case isIP(host):
		return skip(word(host) + " is an IP address")
	case t.failedAt(stepResolve) && isTimeout(t.err):
		return failure(fmt.Sprintf("the name %s cannot be resolved: no name server answers", word(host)), "Mend the name resolution of this machine, or put an address that resolves into "+words.address+".")
	case t.failedAt(stepResolve):
		return failure(fmt.Sprintf("the name %s cannot be resolved: %s", word(host), word(netText(t.err))),
			"Correct the name in "+words.address+", or have it resolved where the command runs.")
	}
	shown := t.addresses
	if len(shown) > 8 {
		shown = shown[:8]
	}
	return fine(fmt.Sprintf("%s is %s", word(host), strings.Join(shown, ", ")))
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// decideConnect judges the TCP connection.
func decideConnect(address string, proxied bool, t trip, words wording) finding {
	switch {
	case proxied:
		return skip("the proxy connects")
	case !t.failedAt(stepConnect):
		return fine("connected with " + word(t.connected))
	case isTimeout(t.err):
		return failure("no answer from "+word(address), "Open the way from here to "+word(address)+" in the firewalls between, or name the proxy that leads there ("+words.proxy+").")
	case errors.Is(t.err, syscall.ECONNREFUSED):
		return failure("nothing listens at "+word(address)+": the connection was refused", "Correct host and port in "+words.address+", or start the API server there.")
	}
	return failure(fmt.Sprintf("no connection with %s: %s", word(address), word(netText(t.err))), "Correct host and port in "+words.address+", or open the way to it.")
}

// netText leaves out what an HTTP client puts before an error: it repeats the URL.
func netText(err error) string {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return err.Error()
}

// proxyChoice is which proxy is on the way, and why.
type proxyChoice struct {
	// url is nil where none is.
	url *url.URL
	// reason names the setting that says so.
	reason string
	// trouble is why the settings cannot be followed, remedy what to do.
	trouble, remedy string
	// uncertain is what keeps this check from being the same as the agent's way.
	uncertain string
}

// decideProxy judges the way to a proxy, and its consent.
func decideProxy(choice proxyChoice, t trip, words wording) finding {
	if choice.trouble != "" {
		return failure(choice.trouble, choice.remedy)
	}
	if choice.url == nil {
		if choice.uncertain != "" {
			return doubt("none is used here: "+choice.reason+"; "+choice.uncertain, choice.remedy)
		}
		return fine("none is used: " + choice.reason)
	}
	shown := fmt.Sprintf("%s (%s)", addressText(choice.url), choice.reason)
	leave := "Correct " + words.proxy + ", or leave the host out of what goes through the proxy."
	var refused *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case t.failedAt(stepResolve):
		return failure(shown+": its name cannot be resolved", leave)
	case t.failedAt(stepConnect) && isTimeout(t.err):
		return failure(shown+": no answer", leave)
	case t.failedAt(stepConnect):
		return failure(shown+": no connection: "+word(netText(t.err)), leave)
	case !t.failedAt(stepTunnel):
		if choice.uncertain != "" {
			return doubt(shown+"; "+choice.uncertain, choice.remedy)
		}
		return fine(shown)
	case errors.As(t.err, &refused) && len(refused.UnverifiedCertificates) > 0:
		return failure(fmt.Sprintf("%s: its own certificate is not trusted: %s; served: %s", shown, word(refused.Err.Error()), describe(refused.UnverifiedCertificates[0])),
			"Put the CA of the proxy, as PEM, into the environment variable PROXY_CA_BUNDLE of "+words.proxyUser+" (and of this command).")
	case errors.As(t.err, &plain):
		return failure(shown+": it does not speak TLS", "Write the proxy's address with http:// in place of https://.")
	}
	return decideTunnel(shown, t, leave)
}

func decideTunnel(shown string, t trip, leave string) finding {
	switch {
	case strings.HasPrefix(t.tunnel, "407"):
		return failure(shown+": it asks for a user and a password (407)", "Put them into the proxy's URL, as http://user:password@host:port.")
	case t.tunnel != "":
		return failure(fmt.Sprintf("%s: it refuses the connection (%s)", shown, word(t.tunnel)), "Have the proxy allow connections to this address and port, or "+lowerFirst(leave))
	case isTimeout(t.err):
		return failure(shown+": it took the connection and then said nothing", leave)
	}
	return failure(shown+": "+word(netText(t.err)), leave)
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// decideAnswer judges whether an API server has answered.
func decideAnswer(t trip, words wording) finding {
	wrong := "Give the address of an API server in " + words.address + ", with the path that a proxy in front of it may need."
	var redirect *kube.RedirectError
	switch {
	case errors.As(t.err, &redirect):
		return redirected(redirect.Status, redirect.Location, wrong)
	case t.err != nil && isTimeout(t.err):
		return failure("the server completed the TLS handshake and then gave no answer", "Look at the load of the API server, and at what stands between.")
	case t.err != nil:
		return failure("the server gave no answer: "+word(netText(t.err)), "Look whether the server refuses the client certificate, and at what stands between.")
	case t.status/100 == 3:
		return redirected(t.status, t.location, wrong)
	case t.status == http.StatusUnauthorized || t.status == http.StatusForbidden:
		return fine(fmt.Sprintf("it answers %d to a question for its version", t.status))
	case t.status == http.StatusTooManyRequests || t.status >= 500:
		return failure(fmt.Sprintf("the server answers %d", t.status), "Try again later, and look at the health of the API server and of what stands between.")
	case t.status != http.StatusOK:
		return failure(fmt.Sprintf("the server answers %d to a question for its version: it is no API server", t.status), wrong)
	}
	if _, ok := versionIn(t.body); !ok {
		return failure("what answers is no API server: the answer is no version", wrong)
	}
	return fine("an API server answers")
}

func redirected(status int, location, remedy string) finding {
	return failure(fmt.Sprintf("the server answers with a redirect (%d) to %s, and none is followed", status, redirectText(location)), remedy)
}

// redirectText is where a redirect leads, without what may be secret in it.
func redirectText(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return "what is no URL"
	}
	return addressText(u)
}

// versionIn reads the version that an API server says.
func versionIn(body []byte) (version.Info, bool) {
	var info version.Info
	if json.Unmarshal(body, &info) != nil || info.Major == "" || info.Minor == "" {
		return version.Info{}, false
	}
	return info, true
}

// hostPort is where a URL leads, with the port that its scheme stands for.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), "443")
}
