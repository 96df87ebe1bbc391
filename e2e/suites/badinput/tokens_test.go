package badinput_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Fields of a registration token that cannot be are refused by the API, with the name of the field.
func TestBadFieldsOfARegistrationTokenAreRefusedByTheAPI(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	p := newPlace()
	require.NoError(t, b.EnsureNamespace(t.Context(), p.workspace))
	for name, test := range map[string]struct {
		spec map[string]any
		says []string
	}{
		"a TTL that is a word":        {map[string]any{"ttl": "soon"}, []string{"spec.ttl", "2562047h"}},
		"a TTL without unit":          {map[string]any{"ttl": "5"}, []string{"spec.ttl"}},
		"a negative TTL":              {map[string]any{"ttl": "-5m"}, []string{"spec.ttl"}},
		"a TTL in days":               {map[string]any{"ttl": "1d"}, []string{"spec.ttl"}},
		"a TTL without end":           {map[string]any{"ttl": "9999999h"}, []string{"spec.ttl"}},
		"a TTL of many digits":        {map[string]any{"ttl": strings.Repeat("9", 300) + "h"}, []string{"spec.ttl"}},
		"a TTL that is a number":      {map[string]any{"ttl": int64(5)}, []string{"spec.ttl"}},
		"an empty TTL":                {map[string]any{"ttl": ""}, []string{"spec.ttl"}},
		"no uses":                     {map[string]any{"maxUses": int64(0)}, []string{"spec.maxUses"}},
		"uses that are a word":        {map[string]any{"maxUses": "many"}, []string{"spec.maxUses"}},
		"a cluster name that is none": {map[string]any{"clusterName": "Not A Name"}, []string{"spec.clusterName", "a name that a Cluster can have"}},
		"a cluster name with a slash": {map[string]any{"clusterName": "../other"}, []string{"spec.clusterName"}},
		"a cluster name that is long": {map[string]any{"clusterName": strings.Repeat("c", 254)}, []string{"spec.clusterName"}},
		"client IDs that are one":     {map[string]any{"clientIDs": "a"}, []string{"spec.clientIDs"}},
		"labels that are a map":       {map[string]any{"allowedLabels": map[string]any{"a": "b"}}, []string{"spec.allowedLabels"}},
	} {
		t.Run(name, func(t *testing.T) {
			token := &unstructured.Unstructured{Object: map[string]any{"spec": test.spec}}
			token.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("ClusterRegistrationToken"))
			token.SetGenerateName("bad-")
			_, err := b.Hub.Dynamic.Resource(stage.Tokens).Namespace(p.workspace).Create(t.Context(), token, metav1.CreateOptions{})
			require.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
			for _, part := range test.says {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

// tokenRow is a token that the API takes and that is of no use as it is.
type tokenRow struct {
	name   string
	spoil  func(t *testing.T, b *bed, token *fleet.ClusterRegistrationToken)
	reason string
	says   []string
	mend   func(t *testing.T, b *bed, token *fleet.ClusterRegistrationToken)
}

func tokenRows() []tokenRow {
	foreign := func(kind corev1.SecretType) func(t *testing.T, b *bed, token *fleet.ClusterRegistrationToken) {
		return func(t *testing.T, b *bed, token *fleet.ClusterRegistrationToken) {
			_, err := b.Hub.Kube.CoreV1().Secrets(token.Namespace).Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: token.Name}, Type: kind, Data: map[string][]byte{"values": []byte(marker)},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	withoutSecret := func(t *testing.T, b *bed, token *fleet.ClusterRegistrationToken) {
		require.NoError(t, b.Hub.Kube.CoreV1().Secrets(token.Namespace).Delete(t.Context(), token.Name, metav1.DeleteOptions{}))
	}
	long := strings.Repeat("t", 253)
	return []tokenRow{
		{name: "taken", spoil: foreign(corev1.SecretTypeOpaque), mend: withoutSecret, reason: "SecretConflict", says: []string{"taken", "delete"}},
		{name: long, spoil: foreign(corev1.SecretTypeOpaque), mend: withoutSecret, reason: "SecretConflict", says: []string{long}},
	}
}

// A registration token that has no values says why, and has them when the reason is gone.
func TestARegistrationTokenThatIsOfNoUseSaysWhyAndHeals(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	p := newPlace()
	require.NoError(t, b.EnsureNamespace(t.Context(), p.workspace))
	for _, r := range tokenRows() {
		t.Run(r.name[:min(20, len(r.name))], func(t *testing.T) {
			token := &fleet.ClusterRegistrationToken{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: r.name},
				Spec:       fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}},
			}
			r.spoil(t, b, token)
			require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Tokens, "ClusterRegistrationToken", p.workspace, token))
			await(t, "the token to say "+r.reason, func(ctx context.Context) (bool, string, error) {
				found, err := stage.Get[fleet.ClusterRegistrationToken](ctx, b.Hub, stage.Tokens, p.workspace, r.name)
				if err != nil || found == nil {
					return false, "no token", err
				}
				ready := stage.Condition(found.Status.Conditions, fleet.TokenConditionReady)
				return ready != nil && ready.Reason == r.reason && containsAll(ready.Message, r.says), stage.Conditions(found.Status.Conditions), nil
			})
			seen := b.observe().of("fleet-controller", func(r shim.Request) bool { return r.Write() && r.Namespace == p.workspace })
			require.Empty(t, seen, "writes within %s:\n%s", window, strings.Join(seen, "\n"))
			r.mend(t, b, token)
			_, err := b.TokenValues(until(t), p.workspace, r.name)
			require.NoError(t, err)
		})
	}
}

// Client IDs that no agent has are named on the agent's side, and the request is granted when they are mended.
func TestATokenForNobodyIsNamedAndHeals(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	a := b.newAgent(t, "not-nobody")
	a.limit(t, []any{"", " ", "nobody"})
	a.secret(t, names.AgentBootstrapSecret, a.bootstrap(nil))
	a.said(t, 0, "reason=RegistrationWaiting", "is not granted", "TokenNotForThisCluster", "spec.clientIDs")
	a.limit(t, nil)
	_, err := b.AwaitConnected(until(t), a.workspace, names.RegisteredCluster("not-nobody"))
	require.NoError(t, err)
}

// limit changes for whom the token of an agent is.
func (a *agent) limit(t *testing.T, clientIDs []any) {
	t.Helper()
	tokens := a.Hub.Dynamic.Resource(stage.Tokens).Namespace(a.workspace)
	await(t, "the token to be changed", func(ctx context.Context) (bool, string, error) {
		have, err := tokens.Get(ctx, "token", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		set := map[string]any{"ttl": "1h0m0s"}
		if clientIDs != nil {
			set["clientIDs"] = clientIDs
		}
		have.Object["spec"] = set
		_, err = tokens.Update(ctx, have, metav1.UpdateOptions{})
		return err == nil, "", err
	})
}
