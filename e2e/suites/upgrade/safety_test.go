package upgrade_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// spoiled is an upgrade that cannot succeed.
type spoiled struct {
	*cluster
	spec   map[string]any
	reason string
	before state
	old    *proc.Process
}

func variable(name, value string) map[string]any {
	return map[string]any{"name": name, "value": value}
}

// An upgrade must not cost a cluster its agent: whatever is wrong with the new pod, the old one lives on and leads, the hub
// says what is in the way, and the next good version goes out. A pod that crashes is taken back, once.
func TestAnUpgradeThatCannotSucceedKeepsTheOldAgent(t *testing.T) {
	b := theBed(t)
	proxy, hub := behindAProxy(t, b)
	through := variable("HTTPS_PROXY", proxy)
	all := []*spoiled{{
		cluster: b.byManager(t, "crashing", nil), reason: "TakenBack",
		spec: map[string]any{"agentEnvVars": []any{variable("GOMEMLIMIT", "nonsense")}}, // no Go program starts with it
	}, {
		cluster: b.byManager(t, "unpullable", nil), reason: stage.Reduced(t, "missing images: waiting for", "ImagePull", "TakenBack"),
		spec: map[string]any{"privateRepoURL": "registry.example.com/" + node.Unpullable},
	}, {
		cluster: b.byManager(t, "cut-off", func(c *fleet.Cluster, secret map[string][]byte) {
			secret["apiServerURL"], secret["apiServerCA"] = []byte(hub.URL), hub.CA
			c.Spec.AgentEnvVars = envVars(through)
		}), reason: "HubUnreachable",
		spec: map[string]any{"agentEnvVars": []any{variable("HTTPS_PROXY", "http://127.0.0.1:9")}}, // nobody listens there
	}}
	for _, s := range all {
		s.before = s.joined(t)
		for _, s.old = range s.processes() {
		}
		require.NotNil(t, s.old)
	}
	for _, s := range all {
		s.change(t, s.spec)
	}
	for _, s := range all {
		s.awaitUpgraded(t, "False "+s.reason, func(status, reason, message string) bool {
			return status == "False" && reason == s.reason && message != ""
		})
	}
	all[0].staysTakenBack(t)
	for _, s := range all {
		require.True(t, s.old.Running(), "the old agent of %s lives on", s.name)
		object, err := s.object(t.Context())
		require.NoError(t, err)
		require.True(t, stage.Connected(object), "%s: %s", s.name, stage.Conditions(object.Status.Conditions))
		require.Equal(t, s.before.generation, object.Status.Agent.Generation)
	}

	// The next good version goes out.
	for _, s := range all {
		s.change(t, map[string]any{"privateRepoURL": "", "agentEnvVars": []any{through, variable("GOOD", "yes")}})
	}
	for _, s := range all {
		after := s.settle(t, "the next good version", func(now state) bool { return now.generation != s.before.generation })
		require.False(t, s.old.Running())
		d, err := s.deployment(t.Context())
		require.NoError(t, err)
		require.Equal(t, "yes", stage.VariableOf(d.Spec.Template.Spec, "GOOD"), after.generation)
		s.awaitUpgraded(t, "True", func(status, _, _ string) bool { return status == "True" })
		s.leave(t)
	}
}

// staysTakenBack looks for a while at an upgrade that was taken back: neither the hub nor the agent tries it again.
func (s *spoiled) staysTakenBack(t *testing.T) {
	t.Helper()
	d, err := s.deployment(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.before.generation, stage.GenerationOf(d.Spec.Template.Spec), "the template is the old one again")
	pods := len(s.pods())
	time.Sleep(window) // nothing is seen to happen
	now, err := s.deployment(t.Context())
	require.NoError(t, err)
	require.Equal(t, d.Generation, now.Generation, "nobody tries it again")
	require.Equal(t, pods, len(s.pods()))
	require.Len(t, s.processes(), 1)
}

// behindAProxy is an address of the hub that only a proxy knows.
func behindAProxy(t *testing.T, b *bed) (proxy string, hub stage.Front) {
	t.Helper()
	const name = "hub.invalid"
	line := shim.Run(t, b.HubURL, b.HubCA)
	own, err := certs.NewAuthority(name)
	require.NoError(t, err)
	require.NoError(t, line.Serve(own, 24*time.Hour, name))
	p := shim.RunProxy(t, nil)
	p.Route(name+":6443", line.URL())
	return p.URL(), stage.Front{URL: fmt.Sprintf("https://%s:6443", name), CA: own.Cert}
}

func envVars(all ...map[string]any) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, each := range all {
		out = append(out, corev1.EnvVar{Name: each["name"].(string), Value: each["value"].(string)})
	}
	return out
}
