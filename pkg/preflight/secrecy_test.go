package preflight

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repeats answers with the bare credential of the request, and an API server's token of another.
func repeats(a *api) {
	a.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/version" {
			return false
		}
		status(w, http.StatusInternalServerError, "", "it was "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+" or "+importToken(young))
		return true
	}
}

func TestCredentialsThatAServerRepeatsAreNotShown(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), repeats)
	for _, document := range [][]byte{
		kubeconfig(t, server.URL, ca.pem),
		values(t, server.URL, ca.pem, secretText, nil),
	} {
		c := check(t, look(t, document, Options{}), CheckAuthentication)
		assert.Contains(t, c.Found, `it was (a credential) or (a credential)`)
	}
}

func TestThePasswordThatAProxyRepeatsIsNotShown(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	way := newProxy(t, "", nil, func(p *proxy) { p.says = "403 it was " + secretText })
	address := strings.Replace(way.URL, "://", "://jane:"+secretText+"@", 1)
	for _, document := range [][]byte{
		kubeconfig(t, "https://"+name, ca.pem, func(c *cluster, u *user) { c.ProxyURL, u.Token = address, "another-one" }),
		values(t, "https://"+name, ca.pem, importToken(young), map[string]any{"proxy": address}),
	} {
		c := check(t, look(t, document, Options{}), CheckProxy)
		assert.Equal(t, Failed, c.Result)
		assert.Contains(t, c.Found, "it was (a credential)")
	}
}

func TestANameThatIsAskedForInPlaceOfTheHostIsTheOneThatIsMissing(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"))
	document := kubeconfig(t, server.URL, ca.pem, func(c *cluster, _ *user) { c.TLSServerName = "other.example.test" })
	assert.Contains(t, check(t, look(t, document, Options{}), CheckTLS).Found, "not for other.example.test")
}

func TestAStepOfWhichNothingIsHeardEnds(t *testing.T) {
	over := make(chan struct{}) // a transport goes on to dial after its request has ended
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		<-over
		return nil, net.ErrClosed
	}}}
	v := &traveller{client: client, limit: 100 * time.Millisecond, now: time.Now}
	target, err := url.Parse("https://" + name)
	require.NoError(t, err)
	began := time.Now()

	trip := v.get(t.Context(), target)
	close(over)

	assert.ErrorIs(t, trip.err, errNoAnswer)
	assert.Equal(t, stepResolve, trip.at)
	assert.Less(t, time.Since(began), stepLimit/2)
	assert.Equal(t, Failed, decideResolve(name, false, trip, valuesWords).result)
}
