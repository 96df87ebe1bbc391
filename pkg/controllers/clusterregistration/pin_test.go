package clusterregistration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func TestIdentityIsBoundNotClaimed(t *testing.T) {
	mine := &registration.Pin{Fingerprint: agentKey.Fingerprint(), ClusterUID: downUID}
	approvedBy := &registration.Pin{Fingerprint: agentKey.Fingerprint(), ClusterUID: downUID, ApprovedBy: "ann", Request: "request-1"}
	bound := pinnedTo(agentKey, downUID)
	boundToOther := pinnedTo(otherKey, downUID)
	imported := importedWith(importUID, downUID)
	spent := func(in *input) { in.tokenSpent = true }
	nothing := func(*input) {}
	cases := map[string]struct {
		request *fleet.ClusterRegistration
		cluster *fleet.Cluster
		more    change[*input]
		granted bool
		pin     *registration.Pin
	}{
		"first bind":                             {request(), cluster(), nothing, true, mine},
		"first, without a key":                   {request(keyless), cluster(), nothing, true, nil},
		"same key":                               {request(), cluster(bound), nothing, true, nil},
		"other key":                              {request(withKey(otherKey, downUID)), cluster(bound), nothing, false, nil},
		"same key from another cluster":          {request(withKey(agentKey, "uid-of-a-copy")), cluster(bound), nothing, false, nil},
		"no key against a pin":                   {request(keyless), cluster(bound), nothing, false, nil},
		"approved, but not to replace":           {request(decidedBy("approve")), cluster(boundToOther), nothing, false, nil},
		"approved to replace":                    {request(decidedBy("replace")), cluster(boundToOther), nothing, true, approvedBy},
		"first, approved":                        {request(decidedBy("approve")), cluster(), nothing, true, approvedBy},
		"bound by an approval, asks again":       {request(), cluster(annotated(names.IdentityAnnotation, approvedBy.Annotation())), nothing, true, nil},
		"denied":                                 {request(decidedBy("deny")), cluster(bound), nothing, false, nil},
		"other key, proven by import":            {request(), cluster(boundToOther, imported), nothing, true, mine},
		"no key, proven by import":               {request(keyless), cluster(boundToOther, imported), nothing, true, nil},
		"the import was of another cluster":      {request(withKey(agentKey, "uid-of-a-copy")), cluster(boundToOther, imported), nothing, false, nil},
		"the import had another account":         {request(), cluster(boundToOther, importedWith("uid-of-an-earlier-one", downUID)), nothing, false, nil},
		"the account is spent":                   {request(), cluster(boundToOther, imported), spent, false, nil},
		"spent, but the key is known":            {request(), cluster(bound, imported), spent, true, nil},
		"a person's token on an imported":        {request(), cluster(boundToOther, imported), func(in *input) { in.token, in.tokenOwner = token(ofAPerson), "" }, false, nil},
		"the pin cannot be read":                 {request(), cluster(annotated(names.IdentityAnnotation, "{}")), nothing, false, nil},
		"the record of the import is unreadable": {request(), cluster(boundToOther, annotated(names.ImportAnnotation, "{")), nothing, false, nil},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			d := decide(asked(test.request, toCluster(test.cluster), test.more))
			if !test.granted {
				assert.NotEqual(t, grant, d.outcome)
				assert.Nil(t, d.pin)
				return
			}
			require.Equal(t, grant, d.outcome, d.message)
			assert.Equal(t, test.pin, d.pin)
		})
	}
}

func TestAConflictSaysWhatTheRequestBringsAndWhatToDo(t *testing.T) {
	d := decide(asked(request(), toCluster(cluster(pinnedTo(otherKey, "uid-bound")))))
	assert.Equal(t, "IdentityConflict", d.reason)
	for _, part := range []string{
		"bound to another identity", agentKey.Fingerprint(), downUID,
		"`fleet registration approve --replace request-1 -n fleet-default`, else `fleet registration deny request-1 -n fleet-default`",
	} {
		assert.Contains(t, d.message, part)
	}
	d = decide(asked(request(keyless), toCluster(cluster(pinnedTo(otherKey, "uid-bound")))))
	assert.Contains(t, d.message, "no key")
}

// Who sent a request reads what is said of it, and has no rights on the Cluster, nor on the requests of others.
func TestARefusalTellsNothingOfOthers(t *testing.T) {
	const victim = "uid-of-the-victims-cluster"
	bound := toCluster(cluster(pinnedTo(otherKey, victim)))
	for name, in := range map[string]input{
		"another key":      asked(request(), bound),
		"no key":           asked(request(keyless), bound),
		"the import again": asked(request(), toCluster(cluster(pinnedTo(otherKey, victim), importedWith(importUID, downUID))), func(in *input) { in.provenance = registration.Provenance{} }),
		"a denied twin":    asked(request(), func(in *input) { in.deniedTwin = request(named("request-of-others")) }),
	} {
		d := decide(in)
		for _, secret := range []string{otherKey.Fingerprint(), victim, "request-of-others"} {
			assert.NotContains(t, d.message, secret, name)
		}
		assert.NotEqual(t, grant, d.outcome, name)
	}
}

// An unreadable pin must not pass for none.
func TestAnUnreadablePinIsAConflictThatNamesTheAnnotation(t *testing.T) {
	d := decide(asked(request(), toCluster(cluster(annotated(names.IdentityAnnotation, "nonsense")))))
	assert.Equal(t, "IdentityConflict", d.reason)
	assert.Contains(t, d.message, names.IdentityAnnotation)
}

// To take the pin off is how a person lets the next request bind the cluster anew.
func TestAGrantDoesNotBindAgainWhatAPersonUnbound(t *testing.T) {
	d := decide(asked(request(granted), toCluster(cluster())))
	require.Equal(t, grant, d.outcome)
	assert.Nil(t, d.pin)
}

// What admits a token asks this before; here it holds by itself.
func TestAnImportOfAnotherClusterProvesNothing(t *testing.T) {
	imported := cluster(pinnedTo(otherKey, downUID), importedWith(importUID, downUID))
	in := asked(request(), toCluster(imported))
	assert.True(t, provenByImport(in, imported))
	in.tokenOwner = "uid-of-another"
	assert.False(t, provenByImport(in, imported))
}
