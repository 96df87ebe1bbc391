package clusterregistration

import (
	"testing"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestEveryChangeFindsTheRequestsThatItMayAnswer(t *testing.T) {
	h := joining(t)
	matched := func(r *fleet.ClusterRegistration) { r.Status.ClusterName = edge }
	h.registrations.Add(
		request(named("request-2"), matched, func(r *fleet.ClusterRegistration) { r.Labels = nil }),
		request(named("request-3"), granted, used),
		request(named("request-4"), func(r *fleet.ClusterRegistration) {
			r.Spec.ClientID, r.Labels[names.RegistrationTokenLabel] = "client2", "shared"
		}),
		request(named("request-5"), granted, func(r *fleet.ClusterRegistration) { r.Namespace = "other" }),
		request(named("request-6"), refusedFor("ClusterNameTaken", now), ofClient("client3")),
		request(named("request-7"), refusedFor("IdentityDenied", now), ofClient("client4")),
	)
	owned := func(owner string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: map[string]string{names.OwnerAnnotation: owner}}
	}
	byItsClient := []string{"request-1", "request-2", "request-3"}
	for name, test := range map[string]struct {
		resolve   relatedresource.Resolver
		namespace string
		key       string
		obj       runtime.Object
		want      []string
	}{
		"an account":               {h.requestsOfPart, "", "", &corev1.ServiceAccount{ObjectMeta: owned("ClusterRegistration/fleet-default/request-9/u")}, []string{"request-9"}},
		"a credential":             {h.requestsOfPart, "", "", &corev1.Secret{ObjectMeta: owned("ClusterRegistration/fleet-default/request-9/u")}, []string{"request-9"}},
		"an import account":        {h.requestsOfPart, "", "", importAccount(token()), []string{"request-1"}},
		"something of a Cluster":   {h.requestsOfPart, "", "", &corev1.Secret{ObjectMeta: owned("Cluster/fleet-default/edge/u")}, nil},
		"something foreign":        {h.requestsOfPart, "", "", &corev1.Secret{}, nil},
		"something that is gone":   {h.requestsOfPart, "", "", nil, nil},
		"a Cluster":                {h.requestsOfCluster, workspace, edge, cluster(), byItsClient},
		"one without a client":     {h.requestsOfCluster, workspace, edge, cluster(func(c *fleet.Cluster) { c.Spec.ClientID = "" }), nil},
		"a Cluster that is gone":   {h.requestsOfCluster, workspace, edge, nil, []string{"request-6"}},
		"a request that is gone":   {h.requestsOfDenial, workspace, "request-1", nil, nil}, // its last state is told as well
		"another client's denial":  {h.requestsOfDenial, workspace, "request-1", request(decidedBy("deny"), refusedFor("Denied", now)), nil},
		"a request":                {h.requestsOfDenial, workspace, "request-1", request(), nil},
		"a denied request":         {h.requestsOfDenial, workspace, "request-1", request(decidedBy("deny"), refusedFor("Denied", now), ofClient("client4")), []string{"request-7"}}, // what it was before an event counts
		"one denied no more":       {h.requestsOfDenial, workspace, "request-1", request(decidedBy("approve"), refusedFor("Denied", now), ofClient("client4")), []string{"request-7"}},
		"a namespace":              {h.requestsOfNamespace, "", place, placeOf(edgeUID), byItsClient},
		"a foreign namespace":      {h.requestsOfNamespace, "", "x", &corev1.Namespace{}, nil},
		"a namespace that is gone": {h.requestsOfNamespace, "", "x", nil, nil},
		"the hub's token":          {h.requestsOfToken, workspace, "import-token-edge", token(), append([]string{"request-1"}, byItsClient...)},
		"a person's token":         {h.requestsOfToken, workspace, "shared", token(ofAPerson), []string{"request-4"}},
		"a token that is gone":     {h.requestsOfToken, workspace, "import-token-edge", nil, []string{"request-1"}},
	} {
		keys, err := test.resolve(test.namespace, test.key, test.obj)
		require.NoError(t, err, name)
		var got []string
		for _, key := range keys {
			assert.Equal(t, workspace, key.Namespace, name)
			got = append(got, key.Name)
		}
		assert.ElementsMatch(t, test.want, got, name)
	}
}
