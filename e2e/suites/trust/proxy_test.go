package trust_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// hidden is a way to an API server under a name that resolves nowhere: the direct path is blocked.
type hidden struct {
	url, address string
	ca           []byte
	shim         *shim.TLS
}

func hide(t *testing.T, name, server string, authority []byte) hidden {
	t.Helper()
	s := shim.Run(t, server, authority)
	own, err := certs.NewAuthority(name)
	require.NoError(t, err)
	require.NoError(t, s.Serve(own, certLife, name))
	return hidden{url: "https://" + name + ":6443", address: name + ":6443", ca: own.Cert, shim: s}
}

// P01, P02: one of two clusters reaches the hub by a proxy. Its agent is told so and no other.
func TestTheProxyOfAClusterIsItsOwn(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	way := hide(t, "hub.invalid", b.HubURL, b.HubCA)
	proxy := shim.RunProxy(t, nil)
	proxy.Route(way.address, way.shim.URL())
	behind := b.manage(t, "behind", map[string][]byte{"apiServerURL": []byte(way.url), "apiServerCA": way.ca})
	neighbour := b.manage(t, "neighbour", nil)
	behind.start(t)
	neighbour.start(t)
	neighbour.joins(t)
	behind.says(t, "HubUnreachable", "hub.invalid")
	behindWas, neighbourWas := behind.template(t), neighbour.template(t)

	behind.patch(t, fmt.Sprintf(`{"agentEnvVars":[{"name":"HTTPS_PROXY","value":%q}],"redeployAgentGeneration":1}`, proxy.URL()))
	await(t, "the agent's Deployment to have the proxy", func(context.Context) (bool, string, error) {
		return behind.env(t, "HTTPS_PROXY") == proxy.URL(), "not yet", nil
	})
	behind.restart(t)
	behind.joins(t)
	require.NotZero(t, proxy.Tunnels()[way.address], "connections through the proxy")
	require.NotEqual(t, behindWas["GENERATION"], behind.template(t)["GENERATION"], "its pods roll")

	require.Equal(t, neighbourWas, neighbour.template(t), "the other agent's environment is as it was")
	require.NotContains(t, neighbourWas, "HTTPS_PROXY")
	require.Contains(t, behind.bundle(t), proxy.URL())
	require.NotContains(t, neighbour.bundle(t), proxy.URL())
}

// template is the environment of the agent's pods.
func (c *cluster) template(t *testing.T) map[string]string {
	t.Helper()
	deployment, err := c.edge.Kube.AppsV1().Deployments(c.agents).Get(t.Context(), names.AgentDeployment, metav1.GetOptions{})
	require.NoError(t, err)
	return envOf(deployment)
}

func envOf(deployment *appsv1.Deployment) map[string]string {
	out := map[string]string{}
	for _, v := range deployment.Spec.Template.Spec.Containers[0].Env {
		out[v.Name] = v.Value
	}
	return out
}

func (c *cluster) env(t *testing.T, name string) string {
	t.Helper()
	return c.template(t)[name]
}

// bundle is the manifest of the agent's bundle on the hub.
func (c *cluster) bundle(t *testing.T) string {
	t.Helper()
	var out string
	await(t, "the bundle of the agent of "+c.name, func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, c.Hub, stage.Bundles, c.workspace, names.AgentBundle(c.name))
		if err != nil || bundle == nil {
			return false, "none", err
		}
		raw, err := yaml.Marshal(bundle.Spec)
		out = string(raw)
		return true, "", err
	})
	return out
}

// P01: the hub reaches a cluster by the proxy that its kubeconfig names.
func TestTheHubUsesTheProxyOfAKubeconfig(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	way := hide(t, "edge.invalid", b.edge.URL, b.edge.CA())
	proxy := shim.RunProxy(t, nil)
	kubeconfig := string(b.kubeconfig(t, way.url, way.ca))
	c := b.manage(t, "p01", map[string][]byte{"value": []byte(kubeconfig)})
	c.notImported(t, "Unreachable", "edge.invalid")

	withProxy := strings.Replace(kubeconfig, "    server:", "    proxy-url: "+proxy.URL()+"\n    server:", 1)
	require.Contains(t, withProxy, "proxy-url", "the field is put in")
	c.rewrite(t, map[string][]byte{"value": []byte(withProxy)})
	c.notImported(t, "Unreachable", "Forbidden") // what the proxy says of an address that it does not know
	proxy.Route(way.address, way.shim.URL())
	c.start(t)
	c.joins(t)
	require.NotZero(t, proxy.Tunnels()[way.address], "connections through the proxy")
}

// notImported waits for condition Imported to be False with a reason, and a message that has all parts.
func (c *cluster) notImported(t *testing.T, reason string, parts ...string) {
	t.Helper()
	_, err := c.AwaitCluster(until(t), c.workspace, c.name, "Imported=False "+reason, func(found *fleet.Cluster) bool {
		condition := stage.Condition(found.Status.Conditions, fleet.ClusterConditionImported)
		return condition != nil && condition.Status == corev1.ConditionFalse && condition.Reason == reason && containsAll(condition.Message, parts)
	})
	require.NoError(t, err)
}

// P03: an agent that its chart installed has the proxy of its values, and keeps it when the hub takes it over.
func TestAnAgentOfTheChartJoinsThroughItsProxy(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	way := hide(t, "chart.invalid", b.HubURL, b.HubCA)
	proxy := shim.RunProxy(t, nil)
	proxy.Route(way.address, way.shim.URL())
	c := &cluster{bed: b, place: place{workspace: newPlace().workspace, agents: stage.SystemNamespace}, name: "p03"}
	values, err := b.NewToken(until(t), c.workspace, "token", fleet.ClusterRegistrationTokenSpec{ClusterName: c.name})
	require.NoError(t, err)
	c.deleteAtEnd(t, c.name)

	require.NoError(t, b.JoinByAgent(until(t), b.edge, values, map[string]any{
		"apiServerURL": way.url, "apiServerCA": string(way.ca), "clientID": "p03", "agentHeartbeatInterval": heartbeat,
		"proxy": proxy.URL(),
	}))
	require.Equal(t, proxy.URL(), c.env(t, "HTTPS_PROXY"))
	require.Contains(t, c.env(t, "NO_PROXY"), ".svc", "the cluster's own services are reached directly")
	c.start(t)
	c.joins(t)
	require.NotZero(t, proxy.Tunnels()[way.address], "connections through the proxy")
	spec := c.connected(t).Spec
	require.Contains(t, spec.AgentEnvVars, corev1.EnvVar{Name: "HTTPS_PROXY", Value: proxy.URL()}, "the hub manages the agent with its proxy")
}

// P04: the proxy speaks TLS with a certificate of a private authority, and changes that. Its CA is given beside whom the
// agent trusts anyway.
func TestAnAgentJoinsThroughAProxyWithAPrivateCA(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	way := hide(t, "secure.invalid", b.HubURL, b.HubCA)
	one, err := certs.NewAuthority("proxy-one")
	require.NoError(t, err)
	two, err := certs.NewAuthority("proxy-two")
	require.NoError(t, err)
	proxy := shim.RunProxy(t, one)
	proxy.Route(way.address, way.shim.URL())
	variables := func(ca []byte) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: proxy.URL()}, {Name: "PROXY_CA_BUNDLE", Value: string(ca)}}
	}
	c := b.manage(t, "p04", map[string][]byte{"apiServerURL": []byte(way.url), "apiServerCA": way.ca}, func(c *fleet.Cluster) {
		c.Spec.AgentEnvVars = variables(one.Cert)
	})
	c.start(t)
	was := c.joins(t)
	require.NotZero(t, proxy.Tunnels()[way.address])
	generation := c.env(t, "GENERATION")

	require.NoError(t, proxy.SwapCA(two))
	c.says(t, "HubUnreachable", "PROXY_CA_BUNDLE", unknownAuthority)
	vars, err := yaml.Marshal(map[string]any{"agentEnvVars": variables(two.Cert), "redeployAgentGeneration": 1})
	require.NoError(t, err)
	asJSON, err := yaml.YAMLToJSON(vars)
	require.NoError(t, err)
	c.patch(t, string(asJSON))
	await(t, "the agent's pods to roll", func(context.Context) (bool, string, error) {
		return c.env(t, "GENERATION") != generation, generation, nil
	})
	require.Equal(t, string(two.Cert), c.env(t, "PROXY_CA_BUNDLE"))
	c.restart(t)
	c.joinsAgain(t, was)
}
