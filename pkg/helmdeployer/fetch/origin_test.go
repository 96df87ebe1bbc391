package fetch

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listener is a server that notes who shows it credentials.
type listener struct {
	*httptest.Server
	mu    sync.Mutex
	shown []string
}

func listen(t *testing.T, answer http.HandlerFunc) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shown := r.Header.Get("Authorization"); shown != "" {
			l.mu.Lock()
			l.shown = append(l.shown, r.URL.Path)
			l.mu.Unlock()
		}
		answer(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown
}

// asOCI is the address of the server as one of a registry.
func (l *listener) asOCI() string { return strings.Replace(l.URL, "https://", "oci://", 1) }

func challenge(scheme string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Www-Authenticate", scheme)
		http.Error(w, "{}", http.StatusUnauthorized)
	}
}

// Whatever the server of a chart leads to, what opens it is shown to nobody else: another port is another server.
func TestCredentialsGoToTheServerThatTheBundleNames(t *testing.T) {
	thief := listen(t, challenge(`Basic realm="thief"`))
	redirects := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+"/stolen", http.StatusTemporaryRedirect)
	}
	indexed := func(urls string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, apiVersion: v2, urls: [%q]}]}\n", urls)
		}
	}
	realm := listen(t, challenge(`Basic realm="realm"`))
	elsewhere := listen(t, challenge(fmt.Sprintf(`Bearer realm="%s/token",service="x"`, realm.URL)))

	repository, registry := listen(t, redirects), listen(t, redirects)
	index, packed := listen(t, indexed(thief.asOCI()+"/app")), listen(t, indexed(thief.URL+"/app.tgz"))
	own := listen(t, challenge(`Basic realm="own"`))
	misled := listen(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/v2/", http.StatusTemporaryRedirect)
	})

	access := Access{Username: "me", Password: "VERY-SECRET"}
	for _, one := range []*listener{thief, realm, elsewhere, repository, registry, index, packed, own, misled} {
		access.CABundle = append(access.CABundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate().Raw})...)
	}
	for _, source := range []Source{
		{Repo: repository.URL, Chart: "app"},
		{Chart: repository.URL + "/app.tgz"},
		{Repo: index.URL, Chart: "app"},
		{Repo: packed.URL, Chart: "app"},
		{Chart: registry.asOCI() + "/app", Version: "1.0.0"},
		{Chart: misled.asOCI() + "/app", Version: "1.0.0"},
		{Chart: own.asOCI() + "/app", Version: "1.0.0"},
	} {
		_, err := Chart(t.Context(), source, access)
		require.Error(t, err, source)
		assert.NotContains(t, err.Error(), "VERY-SECRET")
	}
	assert.Empty(t, thief.all())
	assert.Empty(t, realm.all(), "a redirect says nothing of where credentials are to go")
	assert.Empty(t, elsewhere.all())
	assert.NotEmpty(t, repository.all())
	assert.NotEmpty(t, index.all())
	assert.NotEmpty(t, own.all(), "the registry that the bundle names is shown them")
}

func TestCredentialsOfARegistryNeedTLS(t *testing.T) {
	heard := ""
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(plain.Close)
	own := listen(t, challenge(fmt.Sprintf(`Bearer realm="%s/token",service="x"`, plain.URL)))
	_, err := Chart(t.Context(), Source{Chart: own.asOCI() + "/app", Version: "1.0.0"}, Access{Username: "me", Password: "VERY-SECRET", InsecureSkipTLSVerify: true})
	require.ErrorContains(t, err, "uses http but registry was contacted over https")
	assert.Empty(t, heard)
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	return parsed
}

func TestAnOriginIsAServerAndItsPort(t *testing.T) {
	o := originOf(Source{Repo: "https://charts.example.com/stable"})
	for address, want := range map[string]bool{
		"https://charts.example.com/x": true, "https://charts.example.com:443/x": true, "http://charts.example.com/x": false,
		"https://charts.example.com:8443/x": false, "https://a.charts.example.com/x": false, "https://example.com/x": false,
	} {
		assert.Equal(t, want, o.isFrom(mustParse(t, address)), address)
	}
	assert.Equal(t, "registry-1.docker.io", originOf(Source{Chart: "oci://docker.io/library/app"}).registry())
	assert.False(t, originOf(Source{Repo: "://"}).isFrom(mustParse(t, "https://")))
}
