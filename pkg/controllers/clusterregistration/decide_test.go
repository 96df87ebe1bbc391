package clusterregistration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// asked is what is known about a request of edge for which all is as it should be.
func asked(r *fleet.ClusterRegistration, changes ...change[*input]) input {
	c := cluster()
	in := input{
		request: r, sameClient: []*fleet.Cluster{c}, placed: map[types.UID]bool{edgeUID: true},
		token: token(), importAccountUID: importUID, tokenOwner: edgeUID,
		config: config.Default("v1"), namespaces: hubNames(), provenance: checked,
	}
	if r.Status.ClusterName == c.Name {
		in.matched = c
	}
	with(&in, changes...)
	return in
}

func toCluster(c *fleet.Cluster) change[*input] {
	return func(in *input) { in.sameClient = []*fleet.Cluster{c} }
}

// byItself has a request come with a person's token, for no Cluster yet.
func byItself(changes ...change[*fleet.ClusterRegistrationToken]) change[*input] {
	return func(in *input) {
		in.sameClient, in.matched, in.placed = nil, nil, nil
		in.token, in.tokenOwner = token(append([]change[*fleet.ClusterRegistrationToken]{ofAPerson}, changes...)...), ""
		if id := in.request.Spec.Identity; id != nil {
			id.Requester = userOf(in.token)
		}
	}
}

func TestARequestIsAnsweredByWhatIsKnown(t *testing.T) {
	deleting := func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} }
	revokedCluster := func(c *fleet.Cluster) { c.Spec.Revoked = true }
	other := cluster(func(c *fleet.Cluster) { c.Name, c.UID, c.Spec.ClientID = "other", "uid-of-other", "client2" })
	requireIdentity := func(in *input) { in.config.Registration.RequireIdentity = true }
	approval := func(t *fleet.ClusterRegistrationToken) { t.Spec.RequireApproval = true }
	requester := func(user string) change[*fleet.ClusterRegistration] {
		return func(r *fleet.ClusterRegistration) { r.Spec.Identity.Requester = user }
	}
	ownUser := names.AccountUser(hubNames().Registration, names.Account("import-token-edge", tokenUID))
	cases := map[string]struct {
		in      input
		outcome outcome
		reason  string
		says    string
	}{
		"all is well":              {asked(request()), grant, "Granted", ""},
		"it is being deleted":      {asked(request(func(r *fleet.ClusterRegistration) { r.DeletionTimestamp = &metav1.Time{Time: now} })), revoke, "Deleted", "being deleted"},
		"another manager has it":   {asked(request(func(r *fleet.ClusterRegistration) { r.Labels[names.ClusterManagementLabel] = "x" })), skip, "", ""},
		"it is malformed":          {asked(request(func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = "" })), refuse, "InvalidRequest", "clientRandom"},
		"denied":                   {asked(request(decidedBy("deny"))), revoke, "Denied", "by ann: because; to let it in after all, `fleet registration approve request-1 -n fleet-default`"},
		"denied in a conflict":     {asked(request(decidedBy("deny"), withKey(agentKey, "uid-elsewhere")), toCluster(cluster(importedWith(importUID, downUID)))), revoke, "Denied", "`fleet registration approve --replace request-1 -n fleet-default`"},
		"denied after the grant":   {asked(request(granted, decidedBy("deny"))), revoke, "Denied", "ann"},
		"its token is gone":        {asked(request(), func(in *input) { in.token = nil }), refuse, "TokenUnknown", "import-token-edge"},
		"it names no token":        {asked(request(func(r *fleet.ClusterRegistration) { r.Labels = nil }), func(in *input) { in.token = nil }), refuse, "TokenUnknown", "label fleet.cattle.io/registration-token"},
		"no import account yet":    {asked(request(), func(in *input) { in.importAccountUID = "" }), wait, "WaitingForImportAccount", "import-token-edge"},
		"from whom it says":        {asked(request(requester(ownUser))), grant, "Granted", ""},
		"its account is another's": {asked(request(), func(in *input) { in.accountTaken = true }), refuse, "AccountConflict", "another request"},
		"and was, after the grant": {asked(request(granted), func(in *input) { in.accountTaken = true }), skip, "", ""},
		"from somebody else":       {asked(request(requester("system:admin"))), refuse, "RequesterMismatch", "system:admin"},
		"revoked":                  {asked(request(), toCluster(cluster(revokedCluster))), revoke, "Revoked", "spec.revoked"},
		"no namespace yet":         {asked(request(), func(in *input) { in.placed = nil }), wait, "WaitingForNamespace", "edge"},
		"token of another":         {asked(request(), func(in *input) { in.tokenOwner = "uid-of-other" }), refuse, "TokenNotForThisCluster", "import another"},
		"hub's token, no Cluster":  {asked(request(), func(in *input) { in.sameClient = nil }), refuse, "TokenNotForThisCluster", "import another"},
		"its Cluster is gone":      {asked(request(func(r *fleet.ClusterRegistration) { r.Status.ClusterName = edge }), func(in *input) { in.sameClient, in.matched = nil, nil }), revoke, "ClusterGone", "edge"},

		"by itself":                     {asked(request(), byItself()), create, "", ""},
		"by itself, Cluster exists":     {asked(request(), byItself(), toCluster(cluster()), func(in *input) { in.placed = map[types.UID]bool{edgeUID: true} }), grant, "Granted", ""},
		"its name is taken":             {asked(request(), byItself(), func(in *input) { in.byName = other }), refuse, "ClusterNameTaken", "other"},
		"its name is being freed":       {asked(request(), byItself(), func(in *input) { in.byName = with(other.DeepCopy(), deleting) }), wait, "WaitingForDeletion", "other"},
		"approval is asked for":         {asked(request(), byItself(approval)), refuse, "WaitingForApproval", "`fleet registration approve request-1 -n fleet-default`, or `fleet registration deny request-1 -n fleet-default`"},
		"approved":                      {asked(request(decidedBy("approve")), byItself(approval)), create, "", ""},
		"approved to replace":           {asked(request(decidedBy("replace")), byItself(approval)), create, "", ""},
		"a key is asked for and sent":   {asked(request(), byItself(), requireIdentity), create, "", ""},
		"a key is asked for, none sent": {asked(request(keyless), byItself(), requireIdentity), refuse, "IdentityRequired", "requireIdentity"},
		"the same for a known cluster":  {asked(request(keyless), requireIdentity), refuse, "IdentityRequired", "requireIdentity"},
		"approval for a known cluster": {asked(request(), func(in *input) {
			in.token, in.tokenOwner = token(ofAPerson, approval), ""
			in.request.Spec.Identity.Requester = userOf(in.token)
		}), refuse, "WaitingForApproval", "approve"},
		// Who merely knows the name of the hub's own token does not say whose it is.
		"the hub's token, from nobody":      {asked(request(requester(""))), refuse, "RequesterMismatch", "import-token-edge"},
		"the hub's token, an agent of old":  {asked(request(keyless)), grant, "Granted", ""},
		"a first key from another cluster":  {asked(request(withKey(agentKey, "uid-elsewhere")), toCluster(cluster(importedWith(importUID, downUID)))), refuse, "IdentityConflict", "uid-elsewhere"},
		"the same, by a person's word":      {asked(request(withKey(agentKey, "uid-elsewhere"), decidedBy("replace")), toCluster(cluster(importedWith(importUID, downUID)))), grant, "Granted", ""},
		"a first key from where it was put": {asked(request(), toCluster(cluster(importedWith(importUID, downUID)))), grant, "Granted", ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			d := decide(test.in)
			assert.Equal(t, test.outcome, d.outcome)
			assert.Equal(t, test.reason, d.reason)
			assert.Contains(t, d.message, test.says)
			if d.outcome == grant {
				require.NotNil(t, d.cluster)
				assert.Equal(t, edge, d.cluster.Name)
			}
		})
	}
}

func TestATokenLeadsWhereItsLimitsSay(t *testing.T) {
	limits := func(spec fleet.ClusterRegistrationTokenSpec) change[*fleet.ClusterRegistrationToken] {
		return func(t *fleet.ClusterRegistrationToken) { t.Spec = spec }
	}
	known := func(in *input) {
		in.sameClient, in.placed = []*fleet.Cluster{cluster()}, map[types.UID]bool{edgeUID: true}
	}
	for name, test := range map[string]struct {
		spec    fleet.ClusterRegistrationTokenSpec
		more    change[*input]
		outcome outcome
	}{
		"no limits":                      {fleet.ClusterRegistrationTokenSpec{}, nil, create},
		"this client":                    {fleet.ClusterRegistrationTokenSpec{ClientIDs: []string{"x", client}}, nil, create},
		"another client":                 {fleet.ClusterRegistrationTokenSpec{ClientIDs: []string{"x"}}, nil, refuse},
		"a name, new":                    {fleet.ClusterRegistrationTokenSpec{ClusterName: "chosen"}, nil, create},
		"this name, known":               {fleet.ClusterRegistrationTokenSpec{ClusterName: edge}, known, grant},
		"another name, known":            {fleet.ClusterRegistrationTokenSpec{ClusterName: "chosen"}, known, refuse},
		"another client, known":          {fleet.ClusterRegistrationTokenSpec{ClientIDs: []string{"x"}}, known, refuse},
		"labels are no limit of clients": {fleet.ClusterRegistrationTokenSpec{AllowedLabels: &[]string{}}, known, grant},
	} {
		t.Run(name, func(t *testing.T) {
			changes := []change[*input]{byItself(limits(test.spec))}
			if test.more != nil {
				changes = append(changes, test.more)
			}
			d := decide(asked(request(), changes...))
			assert.Equal(t, test.outcome, d.outcome, d.message)
			if test.outcome == refuse {
				assert.Equal(t, "TokenNotForThisCluster", d.reason)
				assert.Contains(t, d.message, "shared", "the token is named")
			}
		})
	}
}

// A grant is level-triggered and lasts: neither the end of its token nor anything that is found wanting later takes it
// back, only a person or the end of the Cluster.
func TestAGrantIsKept(t *testing.T) {
	elsewhere := cluster(func(c *fleet.Cluster) { c.Spec.ClientID = "edited" })
	for name, test := range map[string]struct {
		in      input
		outcome outcome
	}{
		"all is well":                        {asked(request(granted)), grant},
		"token and account are gone":         {asked(request(granted), func(in *input) { in.token, in.importAccountUID, in.tokenOwner = nil, "", "" }), grant},
		"it is malformed by today's rules":   {asked(request(granted, func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = "" })), grant},
		"a later request bound another key":  {asked(request(granted), toCluster(cluster(pinnedTo(otherKey, downUID)))), grant},
		"the pin cannot be read":             {asked(request(granted), toCluster(cluster(annotated(names.IdentityAnnotation, "{")))), grant},
		"a key is asked for now":             {asked(request(granted, keyless), func(in *input) { in.config.Registration.RequireIdentity = true }), grant},
		"approval is asked for now":          {asked(request(granted), func(in *input) { in.token.Spec.RequireApproval = true }), grant},
		"its Cluster got another client ID":  {asked(request(granted), func(in *input) { in.sameClient, in.matched = nil, elsewhere }), grant},
		"the namespace is not seen":          {asked(request(granted), func(in *input) { in.placed = nil }), skip},
		"the namespace is another's":         {asked(request(granted), func(in *input) { in.placed = map[types.UID]bool{edgeUID: false} }), skip},
		"an earlier hub granted it":          {asked(request(granted, func(r *fleet.ClusterRegistration) { r.Status.Conditions = nil })), skip},
		"granted for nothing that is known":  {asked(request(granted, func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "" }), func(in *input) { in.sameClient = nil }), skip},
		"the same, and the name is taken":    {asked(request(granted, func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "" }), func(in *input) { in.sameClient, in.byName = nil, elsewhere }), skip},
		"revoked":                            {asked(request(granted), toCluster(cluster(func(c *fleet.Cluster) { c.Spec.Revoked = true }))), revoke},
		"its Cluster is gone":                {asked(request(granted), func(in *input) { in.sameClient, in.matched = nil, nil }), revoke},
		"revoked, of an earlier hub":         {asked(request(granted, func(r *fleet.ClusterRegistration) { r.Status.Conditions = nil }), toCluster(cluster(func(c *fleet.Cluster) { c.Spec.Revoked = true }))), revoke},
		"denied though an earlier hub's own": {asked(request(granted, decidedBy("deny"), func(r *fleet.ClusterRegistration) { r.Status.Conditions = nil })), revoke},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(test.in)
			assert.Equal(t, test.outcome, d.outcome, d.message)
			assert.Nil(t, d.pin)
			if d.outcome == grant {
				assert.Equal(t, edge, d.cluster.Name)
			}
		})
	}
}

func TestAGrantIsNotKeptByAnApprovalAlone(t *testing.T) {
	d := decide(asked(request(decidedBy("approve")), toCluster(cluster(pinnedTo(otherKey, downUID)))))
	assert.Equal(t, "IdentityConflict", d.reason, "that takes --replace")
}

func TestOfSeveralClustersOfOneClientTheOldestHasTheRequest(t *testing.T) {
	older := cluster(func(c *fleet.Cluster) {
		c.Name, c.UID, c.CreationTimestamp = "z-older", "uid-of-older", metav1.NewTime(now.Add(-2*3600e9))
	})
	sameAge := cluster(func(c *fleet.Cluster) { c.Name, c.UID = "z-same-age", "uid-of-same" })
	in := asked(request())
	in.sameClient = []*fleet.Cluster{sameAge, cluster(), older}
	found, d := findCluster(in)
	require.Nil(t, d)
	assert.Equal(t, "z-older", found.Name)

	in.sameClient = []*fleet.Cluster{sameAge, cluster()}
	found, _ = findCluster(in)
	assert.Equal(t, edge, found.Name, "then by name")

	in = asked(request(granted))
	in.sameClient = []*fleet.Cluster{older, cluster()}
	found, _ = findCluster(in)
	assert.Equal(t, edge, found.Name, "a grant does not move to another Cluster")
}

func TestMessagesAreBounded(t *testing.T) {
	long := make([]byte, 500)
	for i := range long {
		long[i] = 'x'
	}
	r := request(func(r *fleet.ClusterRegistration) { r.Spec.Identity.Requester = string(long) })
	d := decide(asked(r))
	assert.Equal(t, "RequesterMismatch", d.reason)
	assert.Less(t, len(d.message), 700)

	assert.Less(t, len(describe(&registration.Pin{Fingerprint: "f", ClusterUID: string(long)})), 120)
}
