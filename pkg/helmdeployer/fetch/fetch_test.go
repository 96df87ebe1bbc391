package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// archive is a chart.
func archive(t *testing.T, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tarred := tar.NewWriter(zipped)
	text := "apiVersion: v2\nname: app\nversion: " + version + "\n"
	require.NoError(t, tarred.WriteHeader(&tar.Header{Name: "app/Chart.yaml", Mode: 0o600, Size: int64(len(text))}))
	_, err := tarred.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, tarred.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

// repository serves two versions of a chart to who has the password.
func repository(t *testing.T, mirror string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/charts/index.yaml", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "VERY-SECRET" {
			http.Error(w, "VERY-SECRET to others", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("apiVersion: v1\nentries:\n  app:\n  - {name: app, version: 1.2.0, apiVersion: v2, urls: [app-1.2.0.tgz]}\n" +
			"  - {name: app, version: 2.0.0, apiVersion: v2, urls: ['" + mirror + "/app-2.0.0.tgz']}\n"))
	})
	mux.HandleFunc("/charts/app-1.2.0.tgz", func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(archive(t, "1.2.0"))
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestChartsComeFromARepository(t *testing.T) {
	asked := ""
	mirror := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		_, _ = w.Write(archive(t, "2.0.0"))
	}))
	t.Cleanup(mirror.Close)
	server := repository(t, mirror.URL)
	access := Access{Username: "me", Password: "VERY-SECRET"}
	source := Source{Repo: server.URL + "/charts", Chart: "app", Version: "^1.0.0"}

	_, err := Chart(t.Context(), source, access)
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	for _, one := range []*httptest.Server{server, mirror} {
		access.CABundle = append(access.CABundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate().Raw})...)
	}
	got, err := Chart(t.Context(), source, access)
	require.NoError(t, err)
	assert.Equal(t, "1.2.0", got.Metadata.Version)

	source.Version = ""
	got, err = Chart(t.Context(), source, access)
	require.NoError(t, err)
	assert.Equal(t, "2.0.0", got.Metadata.Version, "the newest")
	assert.Empty(t, asked, "credentials are for the repository's host")

	source.Version = "3"
	_, err = Chart(t.Context(), source, access)
	require.ErrorContains(t, err, "no chart version found")

	// What the server says to those whom it refuses is not repeated.
	_, err = Chart(t.Context(), source, Access{CABundle: access.CABundle})
	require.ErrorContains(t, err, "the server answered 401 Unauthorized")
	assert.NotContains(t, err.Error(), "VERY-SECRET")
}

func TestWhatIsNotFetched(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("internal: VERY-SECRET: {")) }))
	t.Cleanup(plain.Close)
	downgrade := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(downgrade.Close)
	leading := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "apiVersion: v1\nentries: {app: [{name: app, version: 1.0.0, urls: [%q]}]}\n", plain.URL+"/app.tgz")
	}))
	t.Cleanup(leading.Close)
	for want, source := range map[string]Source{
		"an address without TLS":                           {Repo: leading.URL, Chart: "app"},
		"charts are not fetched from link-local addresses": {Repo: "http://169.254.169.254/latest", Chart: "app"},
		"link-local": {Chart: "http://[fe80::1]/app.tgz"},
		"addresses with scheme \"file\" are not fetched": {Chart: "file:///etc/passwd"},
		"it redirects from https":                        {Chart: downgrade.URL + "/app.tgz"},
		"is this the address of a Helm repository?":      {Repo: plain.URL, Chart: "app"},
	} {
		_, err := Chart(t.Context(), source, Access{InsecureSkipTLSVerify: true})
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "VERY-SECRET")
	}
	assert.NotContains(t, Source{Repo: "https://me:VERY-SECRET@example.com?sig=VERY-SECRET", Chart: "app"}.String(), "VERY-SECRET")
}
