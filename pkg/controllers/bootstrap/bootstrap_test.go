package bootstrap

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	k8stesting "k8s.io/client-go/testing"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

const enabled = `{"bootstrap": {"namespace": "fleet-local"}}`

func TestLocalClusterIsMade(t *testing.T) {
	w := newWorld(t, enabled)
	w.secrets.Add(tokenSecret("secret-token"))
	require.NoError(t, w.pass())
	assert.Equal(t, []string{"create " + workspace}, w.namespaces.Writes())
	assert.Equal(t, []string{"create " + workspace + "/" + names.LocalKubeconfigSecret}, w.secrets.Writes())

	secret := w.kubeconfig()
	assert.Equal(t, "true", secret.Labels[names.ManagedLabel])
	assert.Equal(t, "https://10.0.0.1:443", string(secret.Data["apiServerURL"]))
	assert.Equal(t, "CA", string(secret.Data["apiServerCA"]))
	cfg, err := kube.ParseKubeconfig(secret.Data["value"])
	require.NoError(t, err)
	assert.Equal(t, "https://10.0.0.1:443", cfg.Host)
	assert.Equal(t, "secret-token", cfg.BearerToken)
	assert.Equal(t, []byte("CA"), cfg.CAData)
	assert.Empty(t, w.events.Events)

	require.Len(t, w.applied, 2)
	cluster := w.applied[0].(*fleet.Cluster)
	assert.Equal(t, workspace+"/local", cluster.Namespace+"/"+cluster.Name)
	assert.Equal(t, map[string]string{"name": "local"}, cluster.Labels)
	assert.Equal(t, fleet.ClusterSpec{KubeConfigSecret: "local-cluster"}, cluster.Spec)
	group := w.applied[1].(*fleet.ClusterGroup)
	assert.Equal(t, workspace+"/default", group.Namespace+"/"+group.Name)
	assert.Equal(t, map[string]string{"name": "local"}, group.Spec.Selector.MatchLabels)
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	w := newWorld(t, enabled)
	w.secrets.Add(tokenSecret("secret-token"))
	require.NoError(t, w.pass())
	w.namespaces.Writes()
	w.secrets.Writes()
	for range 3 {
		require.NoError(t, w.pass())
	}
	assert.Empty(t, w.namespaces.Writes())
	assert.Empty(t, w.secrets.Writes())
}

func TestKubeconfigSecretIsRepairedAndKeepsWhatIsNotOurs(t *testing.T) {
	w := newWorld(t, enabled)
	w.secrets.Add(tokenSecret("secret-token"))
	require.NoError(t, w.pass())
	edited := w.kubeconfig()
	edited.Data["value"] = []byte("broken")
	edited.Data["mine"] = []byte("kept")
	edited.Annotations = map[string]string{"objectset.rio.cattle.io/applied": "H4sI"}
	w.secrets.Add(edited)
	require.NoError(t, w.pass())
	secret := w.kubeconfig()
	_, err := kube.ParseKubeconfig(secret.Data["value"])
	require.NoError(t, err)
	assert.Equal(t, []byte("kept"), secret.Data["mine"])
	assert.Empty(t, secret.Annotations)
	assert.Equal(t, edited.UID, secret.UID, "in place")
}

// Labels of the local cluster, with and without extra ones; "name" can be overridden.
func TestConfigurationReachesTheLocalCluster(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: names.ControllerDeployment, Namespace: hub.System}}
	deployment.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	w := newWorld(t, `{"bootstrap": {"namespace": "fleet-local", "agentNamespace": "agents", "clusterLabels": {"env": "x"},
		"repo": "https://git.example.com/r", "branch": "main", "secret": "git", "paths": " a, b ,,c"}}`, deployment)
	w.secrets.Add(tokenSecret("secret-token"))
	require.NoError(t, w.pass())
	require.Len(t, w.applied, 3)
	cluster := w.applied[0].(*fleet.Cluster)
	assert.Equal(t, map[string]string{"name": "local", "env": "x"}, cluster.Labels)
	assert.Equal(t, "agents", cluster.Spec.AgentNamespace)
	assert.Equal(t, deployment.Spec.Template.Spec.Tolerations, cluster.Spec.AgentTolerations)
	repo := w.applied[2].(*fleet.GitRepo)
	assert.Equal(t, "bootstrap", repo.Name)
	assert.Equal(t, fleet.GitRepoSpec{Repo: "https://git.example.com/r", Branch: "main", ClientSecretName: "git", Paths: []string{"a", "b", "c"}}, repo.Spec)

	w.configure(t, `{"bootstrap": {"namespace": "fleet-local", "clusterLabels": {"name": "hub"}}}`)
	require.NoError(t, w.pass())
	assert.Len(t, w.applied, 2, "the GitRepo has left the set")
	assert.Equal(t, map[string]string{"name": "hub"}, w.applied[0].(*fleet.Cluster).Labels)
}

func TestDisabledBootstrapTouchesNothing(t *testing.T) {
	for _, document := range []string{`{}`, `{"bootstrap": {"namespace": ""}}`, `{"bootstrap": {"namespace": "-"}}`} {
		w := newWorld(t, document)
		w.secrets.Add(tokenSecret("secret-token"))
		require.NoError(t, w.pass())
		assert.Zero(t, w.sets, "what was there before stays")
		assert.Empty(t, w.secrets.Writes())
		assert.Empty(t, w.namespaces.Writes())
		keys, err := w.partGone("", "", nil)
		require.NoError(t, err)
		assert.Empty(t, keys)
	}
	w := newWorld(t, enabled)
	w.Disabled = true
	Register(t.Context(), w.Deps)
	require.NoError(t, w.Config.Notify(t.Context()))
	_, queued := w.secrets.After(hub.System, names.BootstrapTokenSecret)
	assert.False(t, queued)
}

// R15: whatever comes up first, the bootstrap converges, and says meanwhile what it waits for.
func TestMissingTokenIsSaidOnceAndWaitedFor(t *testing.T) {
	w := newWorld(t, enabled, account())
	require.NoError(t, w.pass())
	assert.Contains(t, w.event(t), "is missing")
	assert.Nil(t, w.kubeconfig())
	assert.Len(t, w.applied, 2, "the Cluster shows that it waits")
	require.NoError(t, w.pass())
	assert.Empty(t, w.events.Events)

	w.secrets.Add(tokenSecret(""))
	require.NoError(t, w.pass())
	assert.Contains(t, w.event(t), "kube-controller-manager")

	w.secrets.Add(tokenSecret("secret-token"))
	require.NoError(t, w.pass())
	assert.NotNil(t, w.kubeconfig())

	wrong := tokenSecret("of somebody else")
	wrong.Annotations[corev1.ServiceAccountNameKey] = "default"
	before := w.kubeconfig()
	w.secrets.Add(wrong)
	require.NoError(t, w.pass())
	assert.Contains(t, w.event(t), names.BootstrapAccount)
	assert.Equal(t, before, w.kubeconfig(), "what is there stays")
}

// A hub outside a cluster has no bootstrap account: all it has is its kubeconfig.
func TestOwnCredentialServesWithoutABootstrapAccount(t *testing.T) {
	files := map[string]string{"/token": "from-file\n", "/cert": "CERT", "/key": "KEY", "/ca": "CA-FILE"}
	for name, test := range map[string]struct {
		hub   rest.Config
		token string
		cert  string
	}{
		"token":            {hub: rest.Config{BearerToken: "inline"}, token: "inline"},
		"token in a file":  {hub: rest.Config{BearerToken: "stale", BearerTokenFile: "/token"}, token: "from-file"},
		"certificate":      {hub: rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: []byte("CERT"), KeyData: []byte("KEY")}}, cert: "CERT"},
		"certificate file": {hub: rest.Config{TLSClientConfig: rest.TLSClientConfig{CertFile: "/cert", KeyFile: "/key"}}, cert: "CERT"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, enabled)
			test.hub.Host, test.hub.CAFile = "https://hub:6443", "/ca"
			w.Hub = &test.hub
			w.read = func(path string) ([]byte, error) { return []byte(files[path]), nil }
			require.NoError(t, w.pass())
			cfg, err := kube.ParseKubeconfig(w.kubeconfig().Data["value"])
			require.NoError(t, err)
			assert.Equal(t, test.token, cfg.BearerToken)
			assert.Equal(t, test.cert, string(cfg.CertData))
			assert.Equal(t, "CA-FILE", string(cfg.CAData))
			assert.Equal(t, "CA-FILE", string(w.kubeconfig().Data["apiServerCA"]))
		})
	}
}

func TestOwnCredentialOfAPluginIsNotUsed(t *testing.T) {
	w := newWorld(t, enabled)
	w.Hub = &rest.Config{Host: "https://hub", ExecProvider: &clientcmdapi.ExecConfig{Command: "login"}}
	require.NoError(t, w.pass())
	assert.Contains(t, w.event(t), "program or a plugin")
	assert.Nil(t, w.kubeconfig())
}

func TestUnreadableInputsAreErrorsAndWriteNothing(t *testing.T) {
	for name, test := range map[string]struct{ resource, says string }{
		"account":    {"serviceaccounts", names.BootstrapAccount},
		"deployment": {"deployments", names.ControllerDeployment},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, enabled, account())
			w.Clients.(*fake.Clientset).PrependReactor("get", test.resource, func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewInternalError(errors.New("broken"))
			})
			require.ErrorContains(t, w.pass(), test.says)
			assert.Empty(t, w.secrets.Writes())
			assert.Zero(t, w.sets)
		})
	}
	w := newWorld(t, enabled)
	w.Hub = &rest.Config{Host: "https://hub", TLSClientConfig: rest.TLSClientConfig{CAFile: "/missing"}}
	w.read = func(string) ([]byte, error) { return nil, errors.New("no such file") }
	require.ErrorContains(t, w.pass(), "no such file")
}

func TestServerWithoutASchemeGetsOne(t *testing.T) {
	for host, want := range map[string]string{
		"https://hub.example.com/k8s/clusters/local": "https://hub.example.com/k8s/clusters/local",
		"127.0.0.1:8080": "http://127.0.0.1:8080",
	} {
		server, _, err := address(&rest.Config{Host: host}, nil)
		require.NoError(t, err)
		assert.Equal(t, want, server)
	}
}

func TestWhatIsDeletedOrEditedBringsTheWorkBack(t *testing.T) {
	w := newWorld(t, enabled)
	for _, part := range [][2]string{{"", workspace}, {workspace, "local"}, {workspace, "default"}, {workspace, "bootstrap"}} {
		keys, err := w.partGone(part[0], part[1], nil)
		require.NoError(t, err)
		assert.Len(t, keys, 1, part)
		keys, err = w.partGone(part[0], part[1], &fleet.Cluster{})
		require.NoError(t, err)
		assert.Empty(t, keys, "a local Cluster changes all the time")
	}
	for _, part := range [][2]string{{"", "default"}, {"fleet-default", "local"}, {workspace, "other"}} {
		keys, err := w.partGone(part[0], part[1], nil)
		require.NoError(t, err)
		assert.Empty(t, keys, part)
	}
	keys, err := w.kubeconfigChanged(workspace, names.LocalKubeconfigSecret, nil)
	require.NoError(t, err)
	assert.Len(t, keys, 1)
	keys, err = w.kubeconfigChanged("fleet-default", names.LocalKubeconfigSecret, nil)
	require.NoError(t, err)
	assert.Empty(t, keys)
	_, err = w.onChange("fleet-default/some", nil)
	require.NoError(t, err)
	assert.Zero(t, w.sets, "other Secrets are nothing to it")
}

func TestCAThatWasTakenOutLeavesTheSecret(t *testing.T) {
	in := input{config: config.Bootstrap{Namespace: workspace}, server: "https://hub", ca: []byte("CA"), credential: credential{token: "t"}}
	d, err := decide(in)
	require.NoError(t, err)
	in.secret, in.ca = d.secret, nil
	d, err = decide(in)
	require.NoError(t, err)
	assert.NotContains(t, d.secret.Data, "apiServerCA")
}
