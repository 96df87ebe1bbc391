package permissions_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/permissions"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// trial holds the matrix against a hub and a cluster, identity by identity.
type trial struct {
	*bed
	matrix permissions.Matrix
	places permissions.Places
	// everybody are the rules that come with any account.
	everybody []string
	tried     map[string]bool
	// share of their attempts that those make whom the API server does not know: one of so many.
	share int
}

func newTrial(t *testing.T, b *bed) *trial {
	t.Helper()
	matrix, err := permissions.Load()
	require.NoError(t, err)
	p := &trial{bed: b, matrix: matrix, tried: map[string]bool{}, share: 1, places: permissions.Places{
		Namespaces: map[string]string{
			"workspace": stage.Workspace, "other-workspace": stage.LocalWorkspace, "registration": stage.RegistrationNamespace,
			"agents": stage.AgentsNamespace, "system": stage.SystemNamespace, "everywhere": "", "default": "default", "kube-system": "kube-system",
		},
		Names: map[string]string{},
	}}
	p.everybody, err = p.account(t, "stranger", p.Hub, "default", "default").rules(t.Context(), "kube-public")
	require.NoError(t, err)
	return p
}

// account is a service account with a token of its own.
func (p *trial) account(t *testing.T, who string, at *stage.Cluster, namespace, name string) identity {
	t.Helper()
	return newIdentity(t, who, at, tokenOf(t, at, namespace, name))
}

func tokenOf(t *testing.T, at *stage.Cluster, namespace, name string) string {
	t.Helper()
	kubeconfig, err := lab.ServiceAccountKubeconfig(t.Context(), at.Config, namespace, name, time.Hour, at.URL, at.CA())
	require.NoError(t, err)
	return kubeconfig.Token
}

// Attacks 1, 2, 3, 10, 13, 14, 16 and their kind: the promise that a compromised agent or token harms nobody but itself.
func TestPermissionsAreThoseOfTheMatrix(t *testing.T) {
	p := newTrial(t, ofTheBed(t))
	p.share = stage.Reduced(t, "attempts of whom the API server does not know: one of", 4, 1)
	const own, foreign = "applicant", "bystander"
	jwt := p.newToken(t, own, fleet.ClusterRegistrationTokenSpec{})
	p.other(t, p.newToken(t, foreign, fleet.ClusterRegistrationTokenSpec{}), foreign)
	a := p.applicant(t, own, jwt, "client-of-the-applicant")
	p.own(t, a, own)
	importer := func(who string) identity { return newIdentity(t, who, p.Hub, jwt) }

	require.NoError(t, a.AwaitLeave(stage.Until(t, patience)))
	p.check(t, importer("import"))

	require.NoError(t, a.Ask(stage.Until(t, patience)))
	secret, err := a.AwaitCredential(stage.Until(t, patience))
	require.NoError(t, err)
	_, err = a.AwaitGrant(stage.Until(t, patience)) // the status follows the credential
	require.NoError(t, err)
	request := p.requestOf(t.Context(), t, p.places.Names["own-cluster"])
	p.places.Names["own-account"] = names.Account(request.Name, string(request.UID))
	p.check(t, importer("import-granted"))

	token := string(secret.Data["token"])
	agent := newIdentity(t, "request", p.Hub, token)
	require.NoError(t, stage.Beat(stage.Until(t, patience), agent.cluster, p.places.Namespaces["own"], token))
	p.awaitSecretGone(t, a)
	p.check(t, importer("import-used"))
	p.check(t, agent)
	p.checkOthers(t, token)

	p.endToken(t, own, importer("import-ended"))
	p.revoke(t, p.places.Names["own-cluster"], newIdentity(t, "request-revoked", p.Hub, token))
	for _, i := range p.matrix.Identities {
		assert.True(t, p.tried[i.Name], "nobody was %s", i.Name)
	}
}

// checkOthers are those who are the same at every step.
func (p *trial) checkOthers(t *testing.T, token string) {
	t.Helper()
	p.check(t, p.account(t, "stranger", p.Hub, "default", "default"))
	p.check(t, newIdentity(t, "anonymous", p.Hub, ""))
	p.check(t, p.account(t, "hub", p.Hub, stage.SystemNamespace, names.ControllerAccount))
	p.check(t, newIdentity(t, "request-expired", p.Hub, p.expired(t, token)))

	p.check(t, p.account(t, "agent", p.edge, stage.SystemNamespace, names.AgentAccount))
	p.check(t, newIdentity(t, "agent-at-hub", p.Hub, tokenOf(t, p.edge, stage.SystemNamespace, names.AgentAccount)))
	p.check(t, newIdentity(t, "request-downstream", p.edge, token))
	for _, who := range []string{"tenant-view", "tenant-edit", "tenant-admin"} {
		p.check(t, p.tenant(t, who))
	}
}

// own notes the names of what the applicant is going to have.
func (p *trial) own(t *testing.T, a *stage.Applicant, tokenName string) {
	t.Helper()
	cluster := names.RegisteredCluster(a.Request.Spec.ClientID)
	p.places.Namespaces["own"] = names.ClusterNamespace(stage.Workspace, cluster)
	for word, name := range map[string]string{
		"own-token": tokenName, "own-request": a.Request.Name, "own-cluster": cluster, "own-secret": a.CredentialSecret(),
		"own-import-account": p.accountOf(t, tokenName), "own-account": "not-there-yet",
	} {
		p.places.Names[word] = name
	}
}

// other makes somebody whose credential waits to be taken, beside the cluster that the hub has imported.
func (p *trial) other(t *testing.T, jwt, tokenName string) {
	t.Helper()
	b := p.applicant(t, tokenName, jwt, "client-of-the-bystander")
	require.NoError(t, b.Ask(stage.Until(t, patience)))
	_, err := b.AwaitCredential(stage.Until(t, patience))
	require.NoError(t, err)
	victim := p.requestOf(t.Context(), t, edge)
	connected, err := p.AwaitConnected(stage.Until(t, patience), stage.Workspace, edge)
	require.NoError(t, err)
	p.places.Namespaces["other"] = connected.Status.Namespace
	for word, name := range map[string]string{
		"other-token": names.ImportToken(edge), "other-request": victim.Name, "other-cluster": edge,
		"other-secret": b.CredentialSecret(), "other-account": names.Account(victim.Name, string(victim.UID)),
	} {
		p.places.Names[word] = name
	}
}

// check makes all attempts of one identity and compares its rules.
func (p *trial) check(t *testing.T, i identity) {
	t.Helper()
	p.tried[i.name] = true
	t.Run(i.name, func(t *testing.T) {
		began := time.Now()
		problems, tried := p.problems(t.Context(), t, i)
		for _, problem := range problems {
			t.Error(problem)
		}
		t.Logf("%d attempts in %s", tried, time.Since(began).Round(time.Millisecond))
	})
}

// problems are the attempts that ended otherwise than the matrix says, and the rules that it does not know or misses.
func (p *trial) problems(ctx context.Context, t *testing.T, i identity) (problems []string, tried int) {
	t.Helper()
	expected, err := p.matrix.Expect(i.name, p.places)
	require.NoError(t, err)
	verdict := map[bool]string{true: "allow", false: "deny"}
	for n, e := range expected {
		if n%p.every(i) != 0 {
			continue
		}
		tried++
		allowed, answer, err := i.try(ctx, e.Attempt)
		require.NoError(t, err, i.name)
		if allowed != e.Allowed {
			problems = append(problems, fmt.Sprintf("identity=%s %s expected=%s got=%s: %s", i.name, e.Attempt, verdict[e.Allowed], verdict[allowed], answer))
		}
	}
	return append(problems, p.ruleProblems(ctx, t, i)...), tried
}

// every is which of its attempts an identity makes: one of so many. Whom the API server does not know it sends away before it
// looks at what is asked, and ends the connection: each attempt costs a new one.
func (p *trial) every(i identity) int {
	if slices.Contains(unknown, i.name) {
		return p.share
	}
	return 1
}

// unknown are those whom the API server does not know.
var unknown = []string{"anonymous", "import-ended", "request-expired", "request-revoked", "request-downstream", "agent-at-hub"}

// ruleProblems looks at every namespace.
func (p *trial) ruleProblems(ctx context.Context, t *testing.T, i identity) (problems []string) {
	t.Helper()
	all, err := i.admin.Kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, namespace := range all.Items {
		want, stated := p.matrix.ExpectRules(i.name, namespace.Name, p.places)
		if !stated {
			continue
		}
		got, err := i.rules(ctx, namespace.Name)
		require.NoError(t, err)
		got = slices.DeleteFunc(got, func(line string) bool { return slices.Contains(p.everybody, line) })
		unknown, missing := permissions.Difference(want, got)
		for _, line := range unknown {
			problems = append(problems, fmt.Sprintf("identity=%s namespace=%s has a rule that the matrix does not know: %s", i.name, namespace.Name, line))
		}
		for _, line := range missing {
			problems = append(problems, fmt.Sprintf("identity=%s namespace=%s lacks a rule of the matrix: %s", i.name, namespace.Name, line))
		}
	}
	return problems
}

// awaitSecretGone waits until the credential can no longer be read: access to it goes before it does.
func (p *trial) awaitSecretGone(t *testing.T, a *stage.Applicant) {
	t.Helper()
	await(t, "the end of the access to the credential", func(ctx context.Context) (bool, string, error) {
		_, err := a.Hub.Kube.CoreV1().Secrets(stage.RegistrationNamespace).Get(ctx, a.CredentialSecret(), metav1.GetOptions{})
		return apierrors.IsForbidden(err), fmt.Sprint(err), nil
	})
}

// expired is the token of a registered agent as if it had ended ten minutes ago. That it is made well is seen from the same
// with an end that is to come.
func (p *trial) expired(t *testing.T, token string) string {
	t.Helper()
	good, err := p.Hub.Reissue(token, time.Now().Add(time.Hour))
	require.NoError(t, err)
	allowed, answer, err := newIdentity(t, "control", p.Hub, good).try(t.Context(), permissions.Attempt{
		Verb: "list", Group: "fleet.cattle.io", Resource: "bundledeployments", Namespace: p.places.Namespaces["own"],
	})
	require.NoError(t, err)
	require.True(t, allowed, "a token that was reissued and has not ended: %s", answer)
	ended, err := p.Hub.Reissue(token, time.Now().Add(-10*time.Minute))
	require.NoError(t, err)
	return ended
}

// endToken deletes a registration token. Its account goes with it, and the API server takes some seconds to notice.
func (p *trial) endToken(t *testing.T, name string, i identity) {
	t.Helper()
	require.NoError(t, p.Hub.Dynamic.Resource(stage.Tokens).Namespace(stage.Workspace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	p.awaitUnknown(t, i)
	p.check(t, i)
}

// revoke sets the mark that lasts.
func (p *trial) revoke(t *testing.T, cluster string, i identity) {
	t.Helper()
	_, err := p.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace).Patch(t.Context(), cluster, types.MergePatchType,
		[]byte(`{"spec":{"revoked":true}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	p.awaitUnknown(t, i)
	p.check(t, i)
}

// awaitUnknown waits until the API server does not know an identity any more.
func (p *trial) awaitUnknown(t *testing.T, i identity) {
	t.Helper()
	await(t, "the end of "+i.name, func(ctx context.Context) (bool, string, error) {
		_, err := i.cluster.Kube.CoreV1().Secrets(stage.RegistrationNamespace).Get(ctx, "any", metav1.GetOptions{})
		return apierrors.IsUnauthorized(err), fmt.Sprint(err), nil
	})
}
