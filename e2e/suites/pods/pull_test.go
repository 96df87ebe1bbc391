package pods_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	registryserver "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
)

const pullUser, pullPassword = "puller", "s3cret-of-the-registry"

// guarded is a registry that answers nobody without the password.
type guarded struct {
	address string
	pulls   atomic.Int64
}

func (b *bed) runRegistry(t *testing.T) *guarded {
	t.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(b.besideHub(t), "0"))
	require.NoError(t, err)
	g := &guarded{address: listener.Addr().String()}
	content := registryserver.New()
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != pullUser || password != pullPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/") {
			g.pulls.Add(1)
		}
		content.ServeHTTP(w, r)
	})}}
	server.Start()
	t.Cleanup(server.Close)
	return g
}

// push puts an image of an archive into the registry, under its own name. It has another digest there: a kubelet that has
// pulled an image with a secret gives it, under whatever name, only to pods that have the secret.
func (g *guarded) push(t *testing.T, archive, image string) {
	t.Helper()
	tag, err := name.NewTag(image)
	require.NoError(t, err)
	content, err := tarball.ImageFromPath(file(archive), &tag)
	require.NoError(t, err)
	content, err = mutate.CreatedAt(content, v1.Time{Time: time.Now()})
	require.NoError(t, err)
	there, err := name.NewTag(g.address+"/"+image, name.Insecure)
	require.NoError(t, err)
	require.NoError(t, remote.Write(there, content, remote.WithContext(t.Context()), remote.WithAuth(&authn.Basic{Username: pullUser, Password: pullPassword})))
}

// secret lets pods pull from it.
func (g *guarded) secret(t *testing.T, namespace, name string) *corev1.Secret {
	t.Helper()
	login, err := json.Marshal(map[string]any{"auths": map[string]any{
		g.address: map[string]any{"auth": base64.StdEncoding.EncodeToString([]byte(pullUser + ":" + pullPassword))},
	}})
	require.NoError(t, err)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: login},
	}
}

// A private registry: without the password the new pod does not come and the old one stays; with a pull secret that the
// Cluster names, it does.
func TestAnAgentIsPulledFromAPrivateRegistryWithItsPullSecret(t *testing.T) {
	b := theBed(t)
	c := b.imported()
	nodes, ok := c.at.provided.(interface{ PullPlainly(registry string) error })
	if !ok {
		t.Skipf("reduced: nodes of provider %s pull from no registry without TLS", chosen.Name())
	}
	r := b.runRegistry(t)
	before := c.now(t)
	r.push(t, oldVersion+".tar", before.pod.Spec.Containers[0].Image)
	require.NoError(t, nodes.PullPlainly(r.address))

	c.change(t, map[string]any{"privateRepoURL": r.address})
	await(t, "a pod whose image cannot be pulled beside the old one", func(ctx context.Context) (bool, string, error) {
		pods, err := c.at.pods(ctx, c.agents, agentPods)
		seen := describe(pods)
		return len(pods) == 2 && strings.Contains(seen, "ImagePull"), seen, err
	})
	c.awaitUpgraded(t, "False", "ImagePull")
	require.True(t, stage.Connected(c.mustObject(t)), "the old agent goes on")
	require.Zero(t, r.pulls.Load())

	_, err := c.at.Kube.CoreV1().Secrets(c.agents).Create(t.Context(), r.secret(t, c.agents, "pull"), metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.at.Kube.CoreV1().Secrets(c.agents).Delete(context.WithoutCancel(t.Context()), "pull", metav1.DeleteOptions{})
	})
	c.change(t, map[string]any{"agentPullSecrets": []any{map[string]any{"name": "pull"}}})
	after := c.settle(t, "pulled with the secret", func(now state) bool { return now.generation != before.generation })
	assert.Equal(t, r.address+"/"+before.pod.Spec.Containers[0].Image, after.pod.Spec.Containers[0].Image)
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "pull"}}, after.pod.Spec.ImagePullSecrets)
	assert.NotZero(t, r.pulls.Load(), "it came from the registry")

	c.change(t, map[string]any{"privateRepoURL": nil, "agentPullSecrets": nil})
	again := c.rolledOnce(t, after, "from where it came before")
	assert.Equal(t, comparable(before.pod), comparable(again.pod), fmt.Sprint(again.pod.Spec.ImagePullSecrets))
}
