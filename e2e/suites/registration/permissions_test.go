package registration_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// matrix is testdata/permissions.yaml.
type matrix struct {
	// Rules are the exact rules of an identity, by namespace.
	Rules    map[string]map[string][]string `json:"rules"`
	Requests []permission                   `json:"requests"`
}

// permission is one row: either May or MayNot is given.
type permission struct {
	Who    []string `json:"who"`
	May    []string `json:"may"`
	MayNot []string `json:"mayNot"`
	What   string   `json:"what"`
	Where  []string `json:"where"`
	Name   string   `json:"name"`
}

func readMatrix(t *testing.T) matrix {
	t.Helper()
	content, err := os.ReadFile("testdata/permissions.yaml")
	require.NoError(t, err)
	var m matrix
	require.NoError(t, yaml.UnmarshalStrict(content, &m))
	return m
}

// trial holds the matrix against a hub, identity by identity.
type trial struct {
	*world
	matrix     matrix
	versions   map[string]string
	namespaces map[string]string
	names      map[string]string
	// everybody are the rules that come with any account.
	everybody []string
}

// Security: the promise that a compromised agent or token harms nobody but itself.
func TestPermissionsAreThoseOfTheMatrix(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	p := &trial{world: w, matrix: readMatrix(t), versions: versions(t, w.Hub), namespaces: map[string]string{
		"workspace": stage.Workspace, "other-workspace": stage.LocalWorkspace, "registration": stage.RegistrationNamespace,
		"agents": stage.AgentsNamespace, "system": stage.SystemNamespace, "everywhere": "", "default": "default", "kube-system": "kube-system",
	}, names: map[string]string{"": "", "any": "any"}}
	stranger := p.account(t, "default", "default")
	var err error
	p.everybody, err = stranger.rules(t.Context(), "kube-public")
	require.NoError(t, err)

	const own, foreign = "applicant", "bystander"
	jwt := w.newToken(t, own, fleet.ClusterRegistrationTokenSpec{})
	p.other(t, w.newToken(t, foreign, fleet.ClusterRegistrationTokenSpec{}), foreign)
	a := w.applicant(t, own, jwt, "client-of-the-applicant")
	p.own(t, a, own)

	importer := newIdentity(t, a.hub, p.versions)
	a.awaitLeave(t)
	p.check(t, "import", importer)
	p.check(t, "stranger", stranger)
	nobody, err := w.Hub.AsToken("anonymous", "")
	require.NoError(t, err)
	p.check(t, "anonymous", newIdentity(t, nobody, p.versions))

	a.ask(t)
	_, secret := a.credential(t)
	p.check(t, "import-granted", importer)

	token := string(secret.Data["token"])
	agent, err := w.Hub.AsToken("agent", token)
	require.NoError(t, err)
	cluster := a.cluster(t)
	t.Cleanup(func() { w.remove(t, stage.Clusters.Resource, stage.Workspace, cluster.Name) })
	require.Equal(t, p.namespaces["own"], cluster.Status.Namespace)
	beat(t, agent, cluster.Status.Namespace, token)
	a.awaitSecretGone(t)
	p.check(t, "import-used", importer)
	p.check(t, "request", newIdentity(t, agent, p.versions))
	p.check(t, "hub", p.account(t, stage.SystemNamespace, names.ControllerAccount))
}

func (p *trial) account(t *testing.T, namespace, name string) identity {
	t.Helper()
	c, err := p.Hub.AsAccount(t.Context(), namespace, name)
	require.NoError(t, err)
	return newIdentity(t, c, p.versions)
}

// own notes the names of what the applicant is going to have.
func (p *trial) own(t *testing.T, a *applicant, tokenName string) {
	t.Helper()
	name := names.RegisteredCluster(a.request.Spec.ClientID)
	p.namespaces["own"] = names.ClusterNamespace(stage.Workspace, name)
	p.names["own-token"], p.names["own-request"], p.names["own-cluster"] = tokenName, a.request.Name, name
	p.names["own-secret"] = names.CredentialSecret(a.request.Spec.ClientID, a.request.Spec.ClientRandom)
	p.names["own-import-account"] = p.accountOf(t, tokenName)
	p.names["own-account"] = "not-there-yet"
}

// other makes somebody whose credential waits to be taken, beside the clusters of the world.
func (p *trial) other(t *testing.T, jwt, tokenName string) {
	t.Helper()
	b := p.applicant(t, tokenName, jwt, "client-of-the-bystander")
	b.ask(t)
	secretName, _ := b.credential(t)
	cluster := b.cluster(t)
	t.Cleanup(func() { p.remove(t, stage.Clusters.Resource, stage.Workspace, cluster.Name) })
	victim := p.requests(t, stage.Workspace, edge2)
	require.Len(t, victim, 1)
	p.namespaces["other"] = p.connected(t, stage.Workspace, edge2).Status.Namespace
	p.names["other-token"], p.names["other-request"], p.names["other-cluster"] = edge2, victim[0].Name, edge2
	p.names["other-secret"] = secretName
	p.names["other-account"] = names.Account(victim[0].Name, string(victim[0].UID))
}

// check makes all requests of one identity and compares its rules.
func (p *trial) check(t *testing.T, who string, i identity) {
	t.Helper()
	if requests := p.requests(t, stage.Workspace, p.names["own-cluster"]); len(requests) == 1 {
		p.names["own-account"] = names.Account(requests[0].Name, string(requests[0].UID))
	}
	t.Run(who, func(t *testing.T) {
		tried := 0
		for _, row := range p.matrix.Requests {
			if !slices.Contains(row.Who, who) {
				continue
			}
			require.NotEqual(t, len(row.May) == 0, len(row.MayNot) == 0, "a row says either may or mayNot: %+v", row)
			for _, a := range p.attempts(t, row) {
				allowed, answer, err := i.try(t.Context(), a)
				require.NoError(t, err)
				assert.Equal(t, len(row.May) > 0, allowed, "%s: %s: %s", who, a, answer)
				tried++
			}
		}
		require.NotZero(t, tried, "testdata/permissions.yaml has no row for %s", who)
		t.Logf("%d requests", tried)
		if rules, ok := p.matrix.Rules[who]; ok {
			p.compareRules(t, i, rules)
		}
	})
}

// attempts are what a row stands for.
func (p *trial) attempts(t *testing.T, row permission) (out []attempt) {
	t.Helper()
	full, subresource, _ := strings.Cut(row.What, "/")
	resource, group, _ := strings.Cut(full, ".")
	name, ok := p.names[row.Name]
	if !ok {
		require.False(t, strings.HasPrefix(row.Name, "own-") || strings.HasPrefix(row.Name, "other-"), "nobody knows name %s", row.Name)
		name = row.Name
	}
	for _, where := range row.Where {
		namespace, ok := p.namespaces[where]
		require.True(t, ok, "nobody knows namespace %s", where)
		for _, verb := range slices.Concat(row.May, row.MayNot) {
			if where == "everywhere" && slices.Contains(named, verb) && namespacedKind(row.What) {
				continue // an object of a namespace cannot be named without it
			}
			out = append(out, attempt{verb: verb, group: group, resource: resource, subresource: subresource, namespace: namespace, name: name})
		}
	}
	return out
}

// namespacedKind says whether the objects of a resource lie in namespaces.
func namespacedKind(what string) bool {
	for _, clusterScoped := range []string{"contents", "clusterrole", "namespaces", "nodes", "custom", "validating", "certificatesigning", "users"} {
		if strings.HasPrefix(what, clusterScoped) {
			return false
		}
	}
	return true
}

// compareRules looks at every namespace of the hub.
func (p *trial) compareRules(t *testing.T, i identity, want map[string][]string) {
	t.Helper()
	all, err := p.Hub.Kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	known := map[string]string{}
	for symbol, namespace := range p.namespaces {
		known[namespace] = symbol
	}
	for _, namespace := range all.Items {
		expected, special := want[known[namespace.Name]]
		if !special {
			expected = want["everywhere"]
		}
		var named []string
		for _, line := range expected {
			fields := strings.Fields(line)
			if name, ok := p.names[fields[len(fields)-1]]; ok && len(fields) > 2 {
				fields[len(fields)-1] = name
			}
			named = append(named, strings.Join(fields, " "))
		}
		rules, err := i.rules(t.Context(), namespace.Name)
		require.NoError(t, err)
		rules = slices.DeleteFunc(rules, func(line string) bool { return slices.Contains(p.everybody, line) })
		assert.ElementsMatch(t, named, rules, "rules in namespace %s", namespace.Name)
	}
}

// awaitLeave waits until the authorizer knows of the applicant's right to look at its request.
func (a *applicant) awaitLeave(t *testing.T) {
	t.Helper()
	await(t, "the rights of the import account", func(ctx context.Context) (bool, string, error) {
		_, err := a.hub.Dynamic.Resource(stage.Registrations).Namespace(a.workspace).Get(ctx, a.request.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err), nil
	})
}

// awaitSecretGone waits until the credential can no longer be read: its Role goes before it.
func (a *applicant) awaitSecretGone(t *testing.T) {
	t.Helper()
	name := names.CredentialSecret(a.request.Spec.ClientID, a.request.Spec.ClientRandom)
	await(t, "the end of the access to the credential", func(ctx context.Context) (bool, string, error) {
		_, err := a.hub.Kube.CoreV1().Secrets(stage.RegistrationNamespace).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsForbidden(err), fmt.Sprint(err), nil
	})
}

// cluster is what the applicant's request was granted for.
func (a *applicant) cluster(t *testing.T) *fleet.Cluster {
	t.Helper()
	r := a.verdict(t, "granted", func(c *genericcondition.GenericCondition) bool { return c.Status == corev1.ConditionTrue })
	require.NotEmpty(t, r.Status.ClusterName)
	cluster, err := stage.Get[fleet.Cluster](t.Context(), theWorld.Hub, stage.Clusters, a.workspace, r.Status.ClusterName)
	require.NoError(t, err)
	require.NotNil(t, cluster)
	return cluster
}

// Whoever may write roles must not give away more than it has.
func TestTheHubCannotMakeItselfMore(t *testing.T) {
	w := ofTheWorld(t)
	hub, err := w.Hub.AsAccount(t.Context(), stage.SystemNamespace, names.ControllerAccount)
	require.NoError(t, err)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for what, rule := range everythingElse() {
		role := clusterRole("probe", rule)
		_, err := hub.Kube.RbacV1().ClusterRoles().Create(t.Context(), role, dry)
		require.True(t, apierrors.IsForbidden(err), "a role with %s: %v", what, err)
		require.ErrorContains(t, err, "attempting to grant RBAC permissions not currently held", what)
	}
	for _, role := range []string{"cluster-admin", "admin", "fleet-controller-bootstrap"} {
		_, err := hub.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), bindingTo(role, "probe"), dry)
		require.True(t, apierrors.IsForbidden(err), "a binding to %s: %v", role, err)
	}
	// The attempt itself is sound: what the hub has it may give away.
	_, err = hub.Kube.RbacV1().ClusterRoles().Create(t.Context(), clusterRole("probe", ownRule()), dry)
	require.NoError(t, err)
}

// A token that is deleted takes its account along, and with it at once what it could do.
func TestADeletedTokensAccountMayDoNothing(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	values, err := w.NewToken(until(t, patience), stage.Workspace, "short-lived", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	account := w.accountOf(t, "short-lived")
	a := w.applicant(t, "short-lived", values["token"].(string), "client")
	a.awaitLeave(t)
	w.remove(t, stage.Tokens.Resource, stage.Workspace, "short-lived")
	await(t, "the end of the account's rights", func(ctx context.Context) (bool, string, error) {
		_, err := a.hub.Dynamic.Resource(stage.Registrations).Namespace(a.workspace).Get(ctx, a.request.Name, metav1.GetOptions{})
		return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err), fmt.Sprint(err), nil // until then: not found
	})
	await(t, "the end of the account", func(ctx context.Context) (bool, string, error) {
		_, err := w.Hub.Kube.CoreV1().ServiceAccounts(stage.RegistrationNamespace).Get(ctx, account, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err), nil
	})
}
