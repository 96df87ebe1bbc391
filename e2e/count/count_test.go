package count

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestsAreReadAsTheServerReadsThem(t *testing.T) {
	for _, test := range []struct {
		method, url string
		key         Key
		object      Object
	}{
		{"GET", "/api/v1/namespaces/a/secrets/b", Key{Verb: "get", Resource: "secrets"}, Object{"a", "b"}},
		{"GET", "/api/v1/secrets", Key{Verb: "list", Resource: "secrets"}, Object{}},
		{"GET", "/api/v1/namespaces/a/secrets?watch=true", Key{Verb: "watch", Resource: "secrets"}, Object{Namespace: "a"}},
		{"GET", "/api/v1/namespaces/a", Key{Verb: "get", Resource: "namespaces"}, Object{"a", "a"}},
		{
			"POST", "/api/v1/namespaces/a/serviceaccounts/b/token",
			Key{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}, Object{"a", "b"},
		},
		{
			"PATCH", "/apis/fleet.cattle.io/v1alpha1/namespaces/a/clusters/b/status",
			Key{Verb: "patch", Group: "fleet.cattle.io", Resource: "clusters", Subresource: "status"}, Object{"a", "b"},
		},
		{"PUT", "/apis/apps/v1/namespaces/a/deployments/b", Key{Verb: "update", Group: "apps", Resource: "deployments"}, Object{"a", "b"}},
		{"DELETE", "/apis/apps/v1/namespaces/a/deployments", Key{Verb: "deletecollection", Group: "apps", Resource: "deployments"}, Object{Namespace: "a"}},
		{"GET", "/readyz?verbose", Key{Verb: "get", Path: "/readyz"}, Object{}},
		{"GET", "/apis", Key{Verb: "get", Path: "/apis"}, Object{}},
	} {
		t.Run(test.method+" "+test.url, func(t *testing.T) {
			request := httptest.NewRequest(test.method, test.url, http.NoBody)
			request.Header.Set("User-Agent", "fleet/v1.2.3 (linux/amd64) kubernetes/unknown")
			key, object, err := FromRequest(request)
			require.NoError(t, err)
			test.key.UserAgent = "fleet"
			require.Equal(t, test.key, key)
			require.Equal(t, test.object, object)
		})
	}
}

func TestDifferenceAndKinds(t *testing.T) {
	lease := Key{UserAgent: "fleet", Verb: "update", Group: "coordination.k8s.io", Resource: "leases"}
	event := Key{UserAgent: "fleet", Verb: "create", Group: "events.k8s.io", Resource: "events"}
	review := Key{UserAgent: "fleet", Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}
	read := Key{UserAgent: "fleet", Verb: "watch", Resource: "secrets"}
	write := Key{UserAgent: "other", User: "u", Verb: "patch", Group: "fleet.cattle.io", Resource: "clusters", Subresource: "status"}
	health := Key{UserAgent: "fleet", Verb: "get", Path: "/readyz"}
	before := Counts{lease: 2, read: 1}
	after := Counts{lease: 5, read: 1, event: 1, review: 1, write: 2, health: 9}

	diff := after.Sub(before)
	require.Equal(t, Counts{lease: 3, event: 1, review: 1, write: 2, health: 9}, diff)
	require.Equal(t, 16, diff.Total())
	require.Equal(t, Counts{write: 2}, diff.Writes().Without(Leases, Events, Reviews))
	require.Equal(t, Counts{read: 1}, after.Reads())
	require.Equal(t, Counts{lease: 5}, after.Where(By("fleet"), Verb("update")))
	require.Equal(t, Counts{write: 2}, after.Where(ByUser("u"), On("fleet.cattle.io", "clusters")))
	require.Equal(t, "     9  get /readyz by fleet\n     2  patch clusters.fleet.cattle.io/status by other (u)\n",
		Counts{write: 2, health: 9}.String())
}

func TestAuditLogIsCountedOncePerRequest(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	lines := `{"stage":"ResponseStarted","verb":"watch","requestURI":"/api/v1/secrets","userAgent":"fleet/v1","user":{"username":"u"},"objectRef":{"resource":"secrets"}}
{"stage":"ResponseComplete","verb":"watch","requestURI":"/api/v1/secrets","userAgent":"fleet/v1","user":{"username":"u"},"objectRef":{"resource":"secrets"}}
{"stage":"ResponseComplete","verb":"create","userAgent":"fleet/v1","user":{"username":"u"},"objectRef":{"resource":"leases","apiGroup":"coordination.k8s.io"}}
{"stage":"ResponseComplete","verb":"get","requestURI":"/readyz?verbose","userAgent":"kubectl","user":{"username":"admin"}}
{"stage":"ResponseCom`
	require.NoError(t, os.WriteFile(log, []byte(lines), 0o600))
	counts, err := ReadAuditLog(log)
	require.NoError(t, err)
	require.Equal(t, Counts{
		{User: "u", UserAgent: "fleet", Verb: "watch", Resource: "secrets"}:                               1,
		{User: "u", UserAgent: "fleet", Verb: "create", Group: "coordination.k8s.io", Resource: "leases"}: 1,
		{User: "admin", UserAgent: "kubectl", Verb: "get", Path: "/readyz"}:                               1,
	}, counts)

	require.NoError(t, os.WriteFile(log, []byte("nonsense\n"), 0o600))
	_, err = ReadAuditLog(log)
	require.ErrorContains(t, err, "line 1")
	_, err = ReadAuditLog(log + ".missing")
	require.Error(t, err)
}

func TestAuditLogIsReadOnWhereItWasLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := NewAuditLog(path)
	read := func() []Entry {
		var entries []Entry
		require.NoError(t, log.Read(func(e Entry) { entries = append(entries, e) }))
		return entries
	}
	write := func(text string) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	require.Error(t, log.Read(func(Entry) {}), "there is no file yet")

	first := `{"stage":"ResponseComplete","verb":"create","userAgent":"fleet/v1","objectRef":{"resource":"secrets","namespace":"a","name":"b"},` +
		`"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:01.5Z","stageTimestamp":"2026-01-01T00:00:01.75Z"}`
	write(first + "\n" + first[:20])
	entries := read()
	require.Len(t, entries, 1)
	require.Equal(t, Key{UserAgent: "fleet", Verb: "create", Resource: "secrets"}, entries[0].Key)
	require.Equal(t, Object{Namespace: "a", Name: "b"}, entries[0].Object)
	require.Equal(t, http.StatusCreated, entries[0].Code)
	require.Equal(t, "250ms", entries[0].Answered.Sub(entries[0].Received).String())

	write(first[20:] + "\n")
	require.Len(t, read(), 1)
	require.Empty(t, read())
}
