package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// rounds is how often an agent is seen to look for what nobody wants any more.
const rounds = 5

// D06: the look for what the hub no longer has takes nothing from releases that it has, whatever they are called and
// wherever they are, also where the agent knows them by their records alone.
func TestACleanUpRemovesNoLiveRelease(t *testing.T) {
	b := newBed(t, lab.WithAudit())
	b.cleanUpEvery("1s")
	stop := b.agent()
	bundles := make([]string, stage.Reduced(t, "releases:", 24, 200))
	for i := range bundles {
		bundles[i] = b.deployOneOfMany(i)
	}
	for _, name := range bundles {
		b.isReady(name)
	}
	live := b.ofMany()
	require.Len(t, live, len(bundles))

	stop()
	log := count.NewAuditLog(b.AuditLog())
	require.NoError(t, log.Read(func(count.Entry) {}))
	stop = b.agent()
	var looks int
	var removed []string
	stage.AwaitWithin(t, patience, fmt.Sprintf("%d looks at all releases", rounds), func(context.Context) (bool, string, error) {
		err := log.Read(func(e count.Entry) {
			switch {
			case e.UserAgent != "fleet-agent":
			case e.Verb == "list" && e.Resource == "secrets" && e.Namespace == "":
				looks++
			case strings.HasPrefix(e.Verb, "delete") && !count.Leases(e.Key):
				removed = append(removed, e.String()+" "+e.Namespace+"/"+e.Name)
			}
		})
		return looks >= rounds, fmt.Sprintf("%d", looks), err
	})
	require.Empty(t, removed)
	require.Equal(t, live, b.ofMany())

	// One that the hub gave up while no agent was there is found, and it alone goes.
	stop()
	b.remove(bundles[0])
	delete(live, "apps/many-0")
	b.agent()
	stage.AwaitWithin(t, patience, "what nobody wants goes", func(context.Context) (bool, string, error) {
		_, there := b.ofMany()["apps/many-0"]
		return !there, "it is there", nil
	})
	require.Equal(t, live, b.ofMany())
}

// cleanUpEvery sets how often an agent looks.
func (b *bed) cleanUpEvery(interval string) {
	b.t.Helper()
	_, err := b.Kube.CoreV1().ConfigMaps(agentNamespace).Create(b.ctx(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentConfigMap},
		Data:       map[string]string{names.ConfigKey: fmt.Sprintf(`{"garbageCollectionInterval":%q}`, interval)},
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
}

// deployOneOfMany deploys a bundle with a ConfigMap, each in another way, and returns its name.
func (b *bed) deployOneOfMany(i int) string {
	b.t.Helper()
	name, change := fmt.Sprintf("r-%d", i), func(*fleet.BundleDeployment) {}
	options := func(set func(*fleet.BundleDeploymentOptions)) func(*fleet.BundleDeployment) {
		return func(bd *fleet.BundleDeployment) { set(&bd.Spec.Options) }
	}
	switch i % 6 {
	case 1:
		change = options(func(o *fleet.BundleDeploymentOptions) {
			o.Helm = &fleet.HelmOptions{ReleaseName: fmt.Sprintf("custom.%d", i)}
		})
	case 2:
		change = options(func(o *fleet.BundleDeploymentOptions) { o.TargetNamespace = fmt.Sprintf("target-%d", i) })
	case 3: // one name in many namespaces
		change = options(func(o *fleet.BundleDeploymentOptions) {
			o.DefaultNamespace, o.Helm = fmt.Sprintf("default-%d", i), &fleet.HelmOptions{ReleaseName: "same"}
		})
	case 4: // shortened, and equal for longer than a release's name may be
		name = strings.Repeat("long.name-", 15) + fmt.Sprint(i)
	case 5:
		name = fmt.Sprintf("fleet-agent-r-%d", i)
	}
	b.deployText(name, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many-%d}\n", i), change)
	return name
}

// ofMany are the ConfigMaps of those bundles.
func (b *bed) ofMany() map[string]types.UID {
	b.t.Helper()
	list, err := b.Kube.CoreV1().ConfigMaps("").List(b.ctx(), metav1.ListOptions{})
	require.NoError(b.t, err)
	found := map[string]types.UID{}
	for i := range list.Items {
		if c := &list.Items[i]; strings.HasPrefix(c.Name, "many-") {
			found[c.Namespace+"/"+c.Name] = c.UID
		}
	}
	return found
}
