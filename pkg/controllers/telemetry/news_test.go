package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestWhatAChangeOfARequestIsWorth(t *testing.T) {
	const granted, ready, used = fleet.RegistrationConditionGranted, fleet.RegistrationConditionCredentialReady, fleet.RegistrationConditionCredentialUsed
	for name, test := range map[string]struct {
		before, after *fleet.ClusterRegistration
		want          []string
	}{
		"it comes":                      {nil, request("r"), nil},
		"it waits":                      {request("r"), request("r", isFalse(granted, "WaitingForNamespace")), nil},
		"it is granted at once":         {nil, request("r", isTrue(granted, "Granted")), []string{"Normal Granted ClusterRegistration/r", "handshakes granted"}},
		"it is granted after a wait":    {request("r", isFalse(granted, "WaitingForNamespace")), request("r", isTrue(granted, "Granted")), []string{"Normal Granted ClusterRegistration/r", "handshakes granted"}},
		"it is granted after a refusal": {request("r", isFalse(granted, "TokenUnknown")), request("r", isTrue(granted, "Granted")), []string{"Normal Granted ClusterRegistration/r", "handshakes granted"}},
		"it stays granted":              {request("r", isTrue(granted, "Granted")), request("r", isTrue(granted, "Granted"), isTrue(ready, "Ready")), nil},
		"it is used":                    {request("r", isTrue(granted, "Granted")), request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed")), []string{"handshakes used"}},
		"it stays used":                 {request("r", isTrue(used, "CredentialUsed")), request("r", isTrue(used, "CredentialUsed"), isTrue(ready, "InUse")), nil},
		"it is refused":                 {request("r"), request("r", isFalse(granted, "TokenUnknown")), []string{"Warning TokenUnknown ClusterRegistration/r", "handshakes refused", "refusals TokenUnknown"}},
		"it stays refused":              {request("r", isFalse(granted, "TokenUnknown")), request("r", isFalse(granted, "TokenUnknown"), isFalse(ready, "TokenUnknown")), nil},
		"it is refused for another":     {request("r", isFalse(granted, "TokenUnknown")), request("r", isFalse(granted, "ClusterNameTaken")), []string{"Warning ClusterNameTaken ClusterRegistration/r", "handshakes refused", "refusals ClusterNameTaken"}},
		"a person has to approve":       {request("r"), request("r", isFalse(granted, "WaitingForApproval")), []string{"Warning WaitingForApproval ClusterRegistration/r", "handshakes refused", "refusals WaitingForApproval"}},
		"a reason of a later version":   {request("r"), request("r", isFalse(granted, "FullMoon")), []string{"Warning FullMoon ClusterRegistration/r", "handshakes refused", "refusals other"}},
		"a reason that is no word":      {request("r"), request("r", isFalse(granted, "a b")), []string{"Warning Other ClusterRegistration/r", "handshakes refused", "refusals other"}},
		"another key":                   {request("r"), request("r", isFalse(granted, "IdentityConflict")), []string{"Warning IdentityConflict ClusterRegistration/r", "handshakes refused", "refusals IdentityConflict", "Warning IdentityConflict Cluster/edge"}},
		"the grant is taken back":       {request("r", isTrue(granted, "Granted")), request("r", isFalse(granted, "Revoked")), []string{"Warning Revoked ClusterRegistration/r", "handshakes taken_back"}},
		"it goes":                       {request("r", isTrue(granted, "Granted")), request("r", isFalse(granted, "Deleted")), nil},
		"denied with another":           {request("r"), request("r", isFalse(granted, "Denied")), []string{"Warning Denied ClusterRegistration/r", "handshakes denied"}},
		"nobody can take it any more":   {request("r", isTrue(ready, "Ready")), request("r", isFalse(ready, "ImportAccountGone")), []string{"Warning ImportAccountGone ClusterRegistration/r", "handshakes expired"}},
		"that is so still":              {request("r", isFalse(ready, "ImportAccountGone")), request("r", isFalse(ready, "ImportAccountGone"), isTrue(granted, "Granted")), []string{"Normal Granted ClusterRegistration/r", "handshakes granted"}},
		"the credential goes with all":  {request("r", isTrue(ready, "Ready")), request("r", isFalse(ready, "ClusterGone")), nil},
		"it is gone unanswered":         {request("r"), nil, []string{"handshakes abandoned"}},
		"it is gone refused":            {request("r", isFalse(granted, "TokenUnknown")), nil, []string{"handshakes abandoned"}},
		"it is gone denied":             {request("r", isFalse(granted, "Denied")), nil, nil},
		"it is gone with a grant":       {request("r", isTrue(granted, "Granted")), nil, nil},
		"it is gone, granted once":      {request("r", isFalse(granted, "Revoked"), isFalse(ready, "Revoked")), nil, nil},
	} {
		assert.Equal(t, test.want, lines(requestNews(test.before, test.after)), name)
	}
}

func TestWhatAChangeOfAClusterIsWorth(t *testing.T) {
	const (
		imported, registered, connected = fleet.ClusterConditionImported, fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected
		valid, processed                = fleet.ClusterConditionCredentialValid, fleet.ClusterConditionProcessed
	)
	silent, beats := isFalse(connected, "Silent"), isTrue(connected, "Heartbeat")
	for name, test := range map[string]struct {
		before, after *fleet.Cluster
		want          []string
	}{
		"it comes":                     {nil, cluster("c"), nil},
		"it waits from the start":      {cluster("c"), cluster("c", isTrue(processed, ""), isFalse(registered, "WaitingForAgent"), isFalse(connected, "WaitingForAgent")), nil},
		"its namespace is another's":   {cluster("c"), cluster("c", isFalse(processed, "NamespaceBlocked")), []string{"Warning NamespaceBlocked Cluster/c"}},
		"it registers":                 {cluster("c", isFalse(registered, "WaitingForAgent"), isFalse(connected, "WaitingForAgent")), cluster("c", isTrue(registered, "CredentialUsed"), beats), []string{"Normal Registered Cluster/c"}},
		"it registers at first sight":  {nil, cluster("c", isTrue(registered, "CredentialUsed"), beats), []string{"Normal Registered Cluster/c"}},
		"it stays registered":          {cluster("c", isTrue(registered, "CredentialUsed")), cluster("c", isTrue(registered, "CredentialUsed"), beats), nil},
		"it falls silent":              {cluster("c", beats), cluster("c", silent), []string{"Warning Silent Cluster/c"}},
		"it stays silent":              {cluster("c", silent), cluster("c", silent, isTrue(valid, "Valid")), nil},
		"it is back":                   {cluster("c", silent), cluster("c", beats), []string{"Normal AgentConnected Cluster/c"}},
		"an import fails":              {cluster("c"), cluster("c", isFalse(imported, "Unreachable")), []string{"Warning Unreachable Cluster/c", "imports Unreachable"}},
		"it fails again":               {cluster("c", isFalse(imported, "Unreachable")), cluster("c", isFalse(imported, "Unreachable")), nil},
		"it fails for another reason":  {cluster("c", isFalse(imported, "Unreachable")), cluster("c", isFalse(imported, "Forbidden")), []string{"Warning Forbidden Cluster/c", "imports Forbidden"}},
		"it fails for a new reason":    {cluster("c"), cluster("c", isFalse(imported, "FullMoon")), []string{"Warning FullMoon Cluster/c", "imports other"}},
		"the local agent is off":       {cluster("c"), cluster("c", isFalse(imported, "LocalAgentDisabled")), nil},
		"it is imported":               {cluster("c", isFalse(imported, "Unreachable")), deployed(cluster("c", isTrue(imported, "Imported"))), []string{"imports imported"}},
		"it is imported again":         {cluster("c", isTrue(imported, "Imported")), deployed(cluster("c", isTrue(imported, "Imported"))), []string{"imports imported"}},
		"it is revoked":                {cluster("c", isTrue(imported, "Imported"), isTrue(valid, "Valid")), cluster("c", isFalse(imported, "Revoked"), isFalse(valid, "Revoked")), []string{"Warning Revoked Cluster/c"}},
		"its credential ends":          {cluster("c", isTrue(valid, "Valid")), cluster("c", isFalse(valid, "Expired")), []string{"Warning Expired Cluster/c"}},
		"its credential will end":      {cluster("c", isTrue(valid, "Valid")), cluster("c", isTrue(valid, "ExpiresSoon")), []string{"Warning ExpiresSoon Cluster/c"}},
		"its account was replaced":     {cluster("c", isTrue(valid, "Valid")), cluster("c", isFalse(valid, "AccountReplaced")), []string{"Warning AccountReplaced Cluster/c"}},
		"its credential is good again": {cluster("c", isFalse(valid, "Expired")), cluster("c", isTrue(valid, "Valid")), nil},
		"its agent cannot be upgraded": {cluster("c"), cluster("c", isFalse(fleet.ClusterConditionAgentUpgraded, "CrashLoop")), []string{"Warning CrashLoop Cluster/c"}},
		"its bundle cannot be written": {cluster("c"), cluster("c", isFalse(fleet.ClusterConditionReconciled, "InvalidAgentOptions")), []string{"Warning InvalidAgentOptions Cluster/c"}},
		"it leaves":                    {cluster("c", beats), leaving(cluster("c", silent, isFalse(processed, "Leaving"))), nil},
		"it leaves something behind":   {leaving(cluster("c", isFalse(processed, "Leaving"))), leaving(cluster("c", isFalse(processed, "RemovalIncomplete"))), []string{"Warning RemovalIncomplete Cluster/c"}},
		"it is gone":                   {cluster("c", beats), nil, nil},
		"it is another manager's":      {cluster("c", beats), elsewhere(cluster("c", silent)), nil},
	} {
		assert.Equal(t, test.want, lines(clusterNews(test.before, test.after)), name)
	}
}

func deployed(c *fleet.Cluster) *fleet.Cluster {
	generation := int64(1)
	c.Status.AgentDeployedGeneration = &generation
	return c
}

func leaving(c *fleet.Cluster) *fleet.Cluster {
	c.DeletionTimestamp = &metav1.Time{Time: began}
	return c
}

func elsewhere(c *fleet.Cluster) *fleet.Cluster {
	c.Labels = map[string]string{names.ClusterManagementLabel: "another"}
	return c
}

func TestWhatAChangeOfATokenIsWorth(t *testing.T) {
	const ready = fleet.TokenConditionReady
	ending := func(end time.Time) *fleet.ClusterRegistrationToken {
		out := token("t", isTrue(ready, ""))
		out.Status.Expires = &metav1.Time{Time: end}
		return out
	}
	imports := ending(began)
	imports.Name = names.ImportToken("edge")
	imports.OwnerReferences = []metav1.OwnerReference{{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster", Name: "edge", UID: "uid-of-edge"}}
	foreign := ending(began)
	foreign.Name = imports.Name
	foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Name: "edge"}}
	going := token("t", isFalse(ready, "SecretConflict"))
	going.DeletionTimestamp = &metav1.Time{Time: began}
	for name, test := range map[string]struct {
		before, after *fleet.ClusterRegistrationToken
		want          []string
	}{
		"it comes":                   {nil, token("t"), nil},
		"it is being made":           {token("t"), token("t", isFalse(ready, "WaitingForAccount")), nil},
		"it is ready":                {token("t"), token("t", isTrue(ready, "")), nil},
		"its Secret is another's":    {token("t", isTrue(ready, "")), token("t", isFalse(ready, "SecretConflict")), []string{"Warning SecretConflict ClusterRegistrationToken/t"}},
		"that is so still":           {token("t", isFalse(ready, "SecretConflict")), token("t", isFalse(ready, "SecretConflict")), nil},
		"it is being deleted":        {token("t"), going, nil},
		"it was deleted":             {ending(began.Add(time.Hour)), nil, nil},
		"it has ended":               {ending(began), nil, []string{"Warning TokenExpired ClusterRegistrationToken/t"}},
		"one without an end":         {token("t"), nil, nil},
		"one of an import has ended": {imports, nil, nil},
		"one of another's Cluster":   {foreign, nil, []string{"Warning TokenExpired ClusterRegistrationToken/" + foreign.Name}},
	} {
		assert.Equal(t, test.want, lines(tokenNews(test.before, test.after, began)), name)
	}
}

// S06 and the like: what others wrote is shown in one line, in bounds, without control characters.
func TestWhatOthersWroteIsShownInBounds(t *testing.T) {
	bad := isFalse(fleet.ClusterConditionImported, "ImportFailed")
	bad.Message = "a\x1b[31m\nb\u202e\x00c" + strings.Repeat("é", 5000)
	news := clusterNews(nil, cluster("c", bad))
	require.Len(t, news, 2)
	message := news[0].event.message
	assert.LessOrEqual(t, len(message), maxMessage)
	assert.True(t, strings.HasPrefix(message, "Imported=False: a?[31m b??c"), message)
	assert.True(t, strings.HasSuffix(message, "é..."), "cut between two characters")

	for _, reason := range []string{"", strings.Repeat("a", 65), "two words", "a\nb", "é", `x"}`} {
		assert.Equal(t, "Other", oneWord(reason), reason)
	}
	assert.Equal(t, "NoServerURL", oneWord("NoServerURL"))
	assert.Equal(t, "short", bounded(" short \n", 5))
	assert.Equal(t, "a?b", bounded("a\xffb", 10))
}
