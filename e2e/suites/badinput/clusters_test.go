package badinput_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// input is what a person gives the hub for a cluster. It starts as a good one, and each row spoils it.
type input struct {
	name string
	// secret is the data of the kubeconfig secret, nil for no secret.
	secret map[string][]byte
	labels map[string]string
	spec   fleet.ClusterSpec
}

// row is one bad input, and what the hub has to say of it in condition Imported.
type row struct {
	name   string
	spoil  func(in *input)
	reason string
	says   []string
	// joins has an agent join at the end, in the plain tier too; else the import has to do.
	joins bool
}

func (b *bed) goodInput(t *testing.T, name, agents string) *input {
	t.Helper()
	token, err := b.edge.AdminToken()
	require.NoError(t, err)
	kubeconfig, err := lab.Kubeconfig{Name: "edge", Server: b.edge.URL, CA: b.edge.CA(), Token: token}.Bytes()
	require.NoError(t, err)
	return &input{
		name: name, secret: map[string][]byte{"value": kubeconfig},
		spec: fleet.ClusterSpec{KubeConfigSecret: name, AgentNamespace: agents},
	}
}

// kubeconfig spoils the kubeconfig.
func kubeconfig(change func(cfg *clientcmdapi.Config, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo)) func(*input) {
	return func(in *input) {
		cfg, err := clientcmd.Load(in.secret["value"])
		if err == nil {
			change(cfg, cfg.Clusters["edge"], cfg.AuthInfos["edge"])
			in.secret["value"], err = clientcmd.Write(*cfg)
		}
		if err != nil {
			panic(err) // the good one is ours
		}
	}
}

// value puts something else in the kubeconfig's place.
func value(document string) func(*input) {
	return func(in *input) { in.secret["value"] = []byte(document) }
}

// key sets another key of the secret.
func key(name, value string) func(*input) {
	return func(in *input) { in.secret[name] = []byte(value) }
}

// spec spoils the Cluster.
func spec(change func(*fleet.ClusterSpec)) func(*input) {
	return func(in *input) { change(&in.spec) }
}

// table is a set of rows at work, in a workspace of its own.
type table struct {
	*bed
	workspace string
	rows      []row
	good      map[string]*input
}

func (b *bed) table(t *testing.T, workspace string, rows []row) *table {
	t.Helper()
	require.NoError(t, b.EnsureNamespace(t.Context(), workspace))
	return &table{bed: b, workspace: workspace, rows: rows, good: map[string]*input{}}
}

// give writes all bad inputs.
func (tb *table) give(t *testing.T) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for _, r := range tb.rows {
		agents := newPlace().agents
		tb.good[r.name] = tb.goodInput(t, r.name, agents)
		bad := tb.goodInput(t, r.name, agents)
		r.spoil(bad)
		group.Go(func() error {
			if err := tb.writeSecret(ctx, bad); err != nil {
				return err
			}
			return stage.Create(ctx, tb.Hub, stage.Clusters, "Cluster", tb.workspace, &fleet.Cluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: tb.workspace, Name: bad.name, Labels: bad.labels}, Spec: bad.spec,
			})
		})
	}
	t.Cleanup(func() { tb.clear(t) })
	require.NoError(t, group.Wait())
}

// writeSecret creates or replaces the kubeconfig secret of an input.
func (tb *table) writeSecret(ctx context.Context, in *input) error {
	if in.secret == nil {
		return nil
	}
	secrets := tb.Hub.Kube.CoreV1().Secrets(tb.workspace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: in.name}, Data: in.secret}
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

// clear deletes the Clusters and waits for their end.
func (tb *table) clear(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	clusters := tb.Hub.Dynamic.Resource(stage.Clusters).Namespace(tb.workspace)
	require.NoError(t, clusters.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	require.NoError(t, stage.Await(ctx, "all Clusters of "+tb.workspace+" to be gone", func(ctx context.Context) (bool, string, error) {
		left, err := clusters.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		return len(left.Items) == 0, fmt.Sprintf("%d left", len(left.Items)), nil
	}))
}

// awaitAll waits until every row's Cluster satisfies done, and says which do not.
func (tb *table) awaitAll(t *testing.T, what string, done func(row, *fleet.Cluster) bool) {
	t.Helper()
	await(t, what, func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.Cluster](ctx, tb.Hub, stage.Clusters, tb.workspace)
		if err != nil {
			return false, "", err
		}
		var missing []string
		for _, r := range tb.rows {
			i := slices.IndexFunc(list, func(c fleet.Cluster) bool { return c.Name == r.name })
			if i < 0 || !done(r, &list[i]) {
				line := r.name + ": none"
				if i >= 0 {
					line = r.name + stage.Conditions(list[i].Status.Conditions)
				}
				missing = append(missing, line)
			}
		}
		return len(missing) == 0, "\n  " + strings.Join(missing, "\n  "), nil
	})
}

// maxMessage bounds what a condition may say.
const maxMessage = 2048

// sayWhatIsWrong waits for every row's reason and message, and looks at what else the messages say.
func (tb *table) sayWhatIsWrong(t *testing.T) {
	t.Helper()
	tb.awaitAll(t, "every bad input to be named", func(r row, c *fleet.Cluster) bool {
		imported := stage.Condition(c.Status.Conditions, fleet.ClusterConditionImported)
		return imported != nil && imported.Status == corev1.ConditionFalse && imported.Reason == r.reason && containsAll(imported.Message, r.says)
	})
	list, err := stage.List[fleet.Cluster](t.Context(), tb.Hub, stage.Clusters, tb.workspace)
	require.NoError(t, err)
	for _, c := range list {
		for _, condition := range c.Status.Conditions {
			require.NotContains(t, condition.Message, marker, "%s, condition %s", c.Name, condition.Type)
			require.LessOrEqual(t, len(condition.Message), maxMessage, "%s, condition %s", c.Name, condition.Type)
			require.NotRegexp(t, `eyJ[\w-]+\.`, condition.Message, "%s, condition %s has a token", c.Name, condition.Type)
			require.False(t, strings.ContainsFunc(condition.Message, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }),
				"%s, condition %s: %q", c.Name, condition.Type, condition.Message)
		}
	}
}

// rest observes that bad input costs nothing once it has been named: no write on the hub, and of the downstream cluster a
// few calls by those rows alone that it may help to try again: after 2, 4, 8 … s, at most twice in the window.
func (tb *table) rest(t *testing.T, calls int) {
	t.Helper()
	// What others of the suite have left is being cleared up at the same time.
	ours := func(r shim.Request) bool { return strings.Contains(r.Namespace+"/"+r.Name, tb.workspace) }
	tb.settle(t, ours)
	before, err := tb.edge.Requests()
	require.NoError(t, err)
	seen := tb.observe()
	after, err := tb.edge.Requests()
	require.NoError(t, err)
	writes := seen.of("fleet-controller", func(r shim.Request) bool { return r.Write() && ours(r) })
	require.Empty(t, writes, "writes within %s, with %d bad inputs:\n%s", window, len(tb.rows), strings.Join(writes, "\n"))
	reads := seen.of("fleet-controller", func(r shim.Request) bool { return r.Read() && r.Verb != "watch" && ours(r) })
	require.LessOrEqual(t, len(reads), 3, "reads of the hub within %s, with %d bad inputs:\n%s", window, len(tb.rows), strings.Join(reads, "\n"))
	called := after.Sub(before).Where(count.By("fleet-controller"))
	require.LessOrEqual(t, called.Total(), calls, "calls of the downstream cluster within %s, with %d bad inputs:\n%s", window, len(tb.rows), called)
}

// heal gives every row the good input, and waits until it is imported; agents of some join.
func (tb *table) heal(t *testing.T) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for _, r := range tb.rows {
		group.Go(func() error {
			if err := tb.writeSecret(ctx, tb.good[r.name]); err != nil {
				return err
			}
			return tb.writeSpec(ctx, tb.good[r.name])
		})
	}
	require.NoError(t, group.Wait())
	tb.awaitAll(t, "every cluster to be imported with the good input", func(_ row, c *fleet.Cluster) bool {
		return stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionImported)
	})
	joining := slices.DeleteFunc(slices.Clone(tb.rows), func(r row) bool { return !r.joins && !full() })
	if len(joining) < len(tb.rows) {
		t.Logf("reduced: agents of %d clusters join instead of %d; FLEET_TEST_FULL=1 runs all", len(joining), len(tb.rows))
	}
	for batch := range slices.Chunk(joining, 4) {
		tb.join(t, batch)
	}
}

// join has the agents of some rows register, at the same time.
func (tb *table) join(t *testing.T, rows []row) {
	t.Helper()
	group, ctx := errgroup.WithContext(until(t))
	for _, r := range rows {
		group.Go(func() error {
			agent, err := tb.StartAgent(ctx, tb.edge, tb.good[r.name].spec.AgentNamespace, "agent-"+tb.good[r.name].spec.AgentNamespace)
			if err != nil {
				return err
			}
			if _, err = tb.AwaitConnected(ctx, tb.workspace, r.name); err != nil {
				return fmt.Errorf("%w; the end of its agent's log:\n%s", err, agent.Tail(20))
			}
			_, err = agent.Stop(grace)
			return err
		})
	}
	require.NoError(t, group.Wait())
}

// writeSpec gives a Cluster the spec and labels of an input. A client ID that the hub has chosen stays.
func (tb *table) writeSpec(ctx context.Context, in *input) error {
	clusters := tb.Hub.Dynamic.Resource(stage.Clusters).Namespace(tb.workspace)
	good, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&in.spec)
	if err != nil {
		return err
	}
	for {
		have, err := clusters.Get(ctx, in.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		want := maps.Clone(good)
		if id, _, _ := unstructured.NestedString(have.Object, "spec", "clientID"); registration.ValidateClientID(id) == nil {
			want["clientID"] = id
		}
		have.Object["spec"] = want
		have.SetLabels(in.labels)
		if _, err = clusters.Update(ctx, have, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}
