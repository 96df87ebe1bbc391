package bundledeployment

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// without takes what is copied out of a bundle, as far as its kind is that.
func without(kinds ...string) func(*fleet.BundleDeployment) {
	return func(bd *fleet.BundleDeployment) {
		another(bd)
		var left []fleet.DownstreamResource
		for _, resource := range bd.Spec.Options.DownstreamResources {
			keep := true
			for _, kind := range kinds {
				keep = keep && resource.Kind != kind
			}
			if keep {
				left = append(left, resource)
			}
		}
		bd.Spec.Options.DownstreamResources = left
		bd.Spec.DownstreamResourcesGeneration++
		if len(left) == 0 {
			bd.Spec.DownstreamResourcesGeneration = 0
		}
	}
}

func (w *world) hasSecret(namespace, name string) bool {
	_, err := w.local.CoreV1().Secrets(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(w.t, err)
	}
	return err == nil
}

func (w *world) hasConfigMap(namespace, name string) bool {
	_, err := w.local.CoreV1().ConfigMaps(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(w.t, err)
	}
	return err == nil
}

// leave puts a Secret there as an agent would have that is gone by now.
func (w *world) leave(namespace, name, owner, copiedTo string) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-of-copy"}}
	if owner != "" {
		secret.Labels = map[string]string{fleet.BundleDeploymentOwnershipLabel: owner}
	}
	if copiedTo != "" {
		secret.Annotations = map[string]string{names.CopiedToAnnotation: copiedTo}
	}
	_, err := w.local.CoreV1().Secrets(namespace).Create(w.t.Context(), secret, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func TestACopyThatIsNotAskedForAnyMoreGoes(t *testing.T) {
	w := start(t)
	w.putSource("one")
	w.put("app", copies)
	w.isDeployed("app")

	w.edit("app", without("Secret"))
	w.isDeployed("app")
	w.eventually("the Secret goes", func() bool { return !w.hasSecret("apps", "shared") })
	assert.True(t, w.hasConfigMap("apps", "shared"), "the other is still asked for")

	w.edit("app", without("configMap"))
	w.isDeployed("app")
	w.eventually("the ConfigMap goes", func() bool { return !w.hasConfigMap("apps", "shared") })
}

func TestCopiesFollowTheirBundleIntoAnotherNamespace(t *testing.T) {
	w := start(t)
	w.putSource("one")
	w.put("app", copies)
	w.isDeployed("app")
	w.edit("app", func(bd *fleet.BundleDeployment) {
		another(bd)
		bd.Spec.Options.DefaultNamespace = "elsewhere"
		bd.Spec.DownstreamResourcesGeneration++
	})
	w.isDeployed("app")
	w.eventually("those in the old one go", func() bool { return !w.hasSecret("apps", "shared") && !w.hasConfigMap("apps", "shared") })
	assert.True(t, w.hasSecret("elsewhere", "shared"))
	assert.True(t, w.hasConfigMap("elsewhere", "shared"))
}

// The version that does without a copy may come while the agent is not there to see it.
func TestACopyOfAnEarlierAgentGoesToo(t *testing.T) {
	w := newWorld(t)
	w.leave("apps", "shared", "app", "apps/shared")
	w.run()
	w.attach(token)
	w.put("app")
	w.eventually("it goes", func() bool { return !w.hasSecret("apps", "shared") })
}

// What the agent did not copy for this very bundle, or copied for another one too, stays.
func TestOnlyTheAgentsOwnCopiesForThisBundleGo(t *testing.T) {
	for name, made := range map[string]struct{ owner, copiedTo string }{
		"a Secret of somebody":                      {"", ""},
		"a Secret with the annotation alone":        {"", "apps/shared"},
		"a Secret with the label alone":             {"app", ""},
		"a copy that a person moved to a namespace": {"app", "elsewhere/shared"},
		"a copy that a person gave another name":    {"app", "apps/other"},
		"a copy of another bundle":                  {"other", "apps/shared"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.leave("apps", "shared", made.owner, made.copiedTo)
			w.run()
			w.attach(token)
			w.put("app")
			w.isDeployed("app")
			w.edit("app", another)
			w.isDeployed("app")
			w.never("removed", func() bool { return !w.hasSecret("apps", "shared") })
		})
	}
}

func TestACopyThatAnotherBundleUsesBecomesThatOnes(t *testing.T) {
	w := start(t)
	w.putSource("one")
	w.put("first", copies)
	w.isDeployed("first")
	w.put("second", copies)
	w.isDeployed("second")
	w.edit("first", without("Secret", "configMap"))
	w.eventually("it is the second's", func() bool {
		secret, err := w.copied()
		return err == nil && secret.Labels[fleet.BundleDeploymentOwnershipLabel] == "second"
	})
	w.edit("second", without("Secret", "configMap"))
	w.eventually("it goes", func() bool { return !w.hasSecret("apps", "shared") && !w.hasConfigMap("apps", "shared") })
}

// At the end of a bundle, what reflectors and people made of its copies stays: labels go with such a one.
func TestWhatWasCopiedFurtherStaysAtTheEndOfTheBundle(t *testing.T) {
	w := newWorld(t)
	w.leave("apps", "shared", "app", "apps/shared")
	w.leave("apps", "old", "app", "")
	w.leave("mine", "shared", "app", "apps/shared")
	w.leave("apps", "renamed", "app", "apps/shared")
	w.putSource("one")
	w.run()
	w.attach(token)
	w.put("app", copies)
	w.isDeployed("app")
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("the copies go", func() bool { return !w.hasSecret("apps", "shared") && !w.hasSecret("apps", "old") })
	assert.True(t, w.hasSecret("mine", "shared"))
	assert.True(t, w.hasSecret("apps", "renamed"))
}

// While the version that does without it is not on the cluster, something may use the copy.
func TestACopyStaysUntilTheVersionWithoutItIsDeployed(t *testing.T) {
	w := start(t)
	w.putSource("one")
	w.put("app", copies)
	w.isDeployed("app")
	w.deployer.with(func() { w.deployer.fails["app"] = errors.New("no") })
	w.edit("app", without("Secret"))
	w.eventually("it fails", func() bool { return len(w.deployer.jobsOf("app")) > 2 })
	w.never("removed", func() bool { return !w.hasSecret("apps", "shared") })
	w.deployer.with(func() { delete(w.deployer.fails, "app") })
	w.eventually("it goes", func() bool { return !w.hasSecret("apps", "shared") })
}

// A version that waits for another bundle, or is refused for good, is not deployed either, and nothing fails.
func TestACopyStaysWhileTheVersionWithoutItWaits(t *testing.T) {
	for name, test := range map[string]struct {
		hold func(w *world)
		spec func(*fleet.BundleDeployment)
		free func(w *world)
	}{
		"for another bundle": {
			hold: func(*world) {},
			spec: func(bd *fleet.BundleDeployment) { bd.Spec.DependsOn = []fleet.BundleRef{{Name: "other"}} },
			free: func(w *world) { w.put("other") },
		},
		"for a version that can be installed": {
			hold: func(w *world) {
				w.deployer.with(func() { w.deployer.fails["app"] = errors.New("timed out waiting for the condition") })
			},
			spec: func(*fleet.BundleDeployment) {},
			free: func(w *world) {
				w.deployer.with(func() { delete(w.deployer.fails, "app") })
				w.edit("app", another)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.putSource("one")
			w.put("app", copies)
			w.isDeployed("app")
			test.hold(w)
			before := w.get("app").Status.Conditions
			w.edit("app", func(bd *fleet.BundleDeployment) { without("Secret")(bd); test.spec(bd) })
			w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return !equality.Semantic.DeepEqual(before, s.Conditions) })
			w.never("removed", func() bool { return !w.hasSecret("apps", "shared") })
			test.free(w)
			w.eventually("it goes", func() bool { return !w.hasSecret("apps", "shared") })
		})
	}
}

// The cache may be behind: the hub itself has to say that this version is wanted.
func TestACopyStaysWhileTheHubDoesNotSay(t *testing.T) {
	w := start(t)
	w.putSource("one")
	w.put("app", copies)
	w.isDeployed("app")
	w.refuse("get", deployments, unreachable)
	w.edit("app", without("Secret"))
	w.isDeployed("app")
	w.eventually("the hub is asked", func() bool { return w.reads(deployments) > 1 })
	w.never("removed", func() bool { return !w.hasSecret("apps", "shared") })
	w.refuse("get", deployments, 0)
	w.eventually("it goes", func() bool { return !w.hasSecret("apps", "shared") })
}

// Bundles without copies cost one look for all of them, and none where the agent may not look.
func TestBundlesWithoutCopiesAreNotSearchedFor(t *testing.T) {
	for name, forbidden := range map[string]bool{"allowed": false, "forbidden": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if forbidden {
				w.local.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New("no"))
				})
			}
			w.run()
			w.attach(token)
			for _, bundle := range []string{"a", "b", "c"} {
				w.put(bundle)
				w.isDeployed(bundle)
				w.edit(bundle, another)
				w.isDeployed(bundle)
			}
			w.eventually("all were looked at", func() bool {
				cleared := 0
				for _, bundle := range []string{"a", "b", "c"} {
					want := w.get(bundle).Spec.DeploymentID
					w.memory.about(bundle, func(n *note) {
						if n.cleared == want {
							cleared++
						}
					})
				}
				return cleared == 3
			})
			lists := 0
			for _, action := range w.local.Actions() {
				if action.Matches("list", "secrets") {
					lists++
				}
			}
			assert.Equal(t, 1, lists)
			assert.Zero(t, w.reads(deployments))
		})
	}
}
