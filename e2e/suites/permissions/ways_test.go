package permissions_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// queries are ways of asking for a list: selectors, names, old versions, pages, watches of every kind.
var queries = []string{
	"", "limit=1", "fieldSelector=metadata.name%3Dfleet-agent", "fieldSelector=metadata.namespace%3Ddefault",
	"labelSelector=fleet.cattle.io%2Fmanaged%3Dtrue", "resourceVersion=0", "resourceVersion=0&resourceVersionMatch=NotOlderThan",
	"watch=true&timeoutSeconds=1", "watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dfleet-agent",
	"watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
}

// forms are those in which an API server answers.
var forms = []string{
	"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
}

// Attack 13: an agent that asks in another way is answered alike. Its own BundleDeployments are answered in each, so that a
// way which no API server understands proves nothing.
func TestNoWayOfAskingShowsWhatIsAnothers(t *testing.T) {
	b := ofTheBed(t)
	a := b.applicant(t, "curious", b.newToken(t, "curious", fleet.ClusterRegistrationTokenSpec{}), "client-that-is-curious")
	require.NoError(t, a.Ask(stage.Until(t, patience)))
	secret, err := a.AwaitCredential(stage.Until(t, patience))
	require.NoError(t, err)
	own := string(secret.Data["deploymentNamespace"])
	require.NotEmpty(t, own)
	victim, err := b.AwaitConnected(stage.Until(t, patience), stage.Workspace, edge)
	require.NoError(t, err)
	agent := newIdentity(t, "request", b.Hub, string(secret.Data["token"]))

	const core, group = "/api/v1", "/apis/fleet.cattle.io/v1alpha1"
	for _, query := range queries {
		for _, form := range forms {
			code := agent.ask(t, group+"/namespaces/"+own+"/bundledeployments?"+query, form)
			if form == forms[0] || code != http.StatusNotAcceptable { // a watch knows fewer forms
				assert.Equal(t, http.StatusOK, code, "its own: %s as %s", query, form)
			}
			for _, path := range []string{
				group + "/namespaces/" + victim.Status.Namespace + "/bundledeployments", group + "/bundledeployments",
				group + "/watch/namespaces/" + victim.Status.Namespace + "/bundledeployments",
				group + "/clusters", group + "/clusterregistrations", group + "/contents",
				core + "/namespaces/" + victim.Status.Namespace + "/secrets", core + "/namespaces/" + own + "/secrets", core + "/secrets",
				core + "/watch/namespaces/" + own + "/secrets/fleet-agent-credential",
				core + "/namespaces/" + victim.Status.Namespace + "/configmaps", core + "/namespaces/" + own + "/configmaps",
				core + "/namespaces/" + victim.Status.Namespace + "/events", core + "/namespaces",
				"/apis/coordination.k8s.io/v1/leases", "/apis/coordination.k8s.io/v1/namespaces/" + own + "/leases",
				"/apis/coordination.k8s.io/v1/namespaces/" + victim.Status.Namespace + "/leases",
			} {
				assert.Equal(t, http.StatusForbidden, agent.ask(t, path+"?"+query, form), "%s?%s as %s", path, query, form)
			}
		}
	}
}

// ask reads a path in a form of answer, and returns the status.
func (i identity) ask(t *testing.T, path, form string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, i.cluster.URL+path, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", form)
	answer, err := i.client.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}
