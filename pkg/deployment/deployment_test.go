package deployment

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/target"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	namespace = "cluster-ws-edge-0123456789ab"
	oldID     = "s-old:1"
	newID     = "s-new:2"
)

func bundle() *fleet.Bundle {
	return &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "app", Labels: map[string]string{
			"team": "blue", fleet.RepoLabel: "repo", fleet.CommitLabel: "abc",
			"management.cattle.io/x": "1", "kubectl.kubernetes.io/y": "2", "objectset.rio.cattle.io/hash": "3",
		}},
		Spec: fleet.BundleSpec{DependsOn: []fleet.BundleRef{{Name: "base"}}},
	}
}

// wants is a target with the given values, nil for none.
func wants(id string, values map[string]any) target.Target {
	options := fleet.BundleDeploymentOptions{
		DefaultNamespace: "app", CorrectDrift: &fleet.CorrectDrift{Enabled: true},
		Helm: &fleet.HelmOptions{Chart: "chart", TakeOwnership: true}, NamespaceLabels: map[string]string{"a": "b"},
	}
	if values != nil {
		options.Helm.Values = &fleet.GenericMap{Data: values}
	}
	return target.Target{
		Cluster: &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge"}},
		Options: options, DeploymentID: id,
	}
}

var release = target.Step{Create: true, Stage: true, Promote: true}

func build(t *testing.T, in Input) Output {
	t.Helper()
	in.Namespace, in.Content = namespace, "s-new"
	if in.Bundle == nil {
		in.Bundle = bundle()
	}
	out, err := Build(in)
	require.NoError(t, err)
	return out
}

// running is a deployment of the old version with values, and what its Secret holds.
func running(t *testing.T) (*fleet.BundleDeployment, Values) {
	t.Helper()
	out := build(t, Input{Target: wants(oldID, map[string]any{"old": true}), Step: release})
	return out.Deployment, ValuesIn(out.Secret)
}

func TestGolden(t *testing.T) {
	out := build(t, Input{Target: wants(newID, map[string]any{"replicas": int64(3), "password": "canary"}), Step: release, Copies: 7})
	for name, obj := range map[string]any{"deployment": out.Deployment, "secret": out.Secret} {
		got, err := yaml.Marshal(obj)
		require.NoError(t, err)
		path := filepath.Join("testdata", name+".yaml")
		if *update {
			require.NoError(t, os.WriteFile(path, got, 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}

// S06: values are in the Secret, and in no other object.
func TestValuesAreInTheSecretAlone(t *testing.T) {
	in := Input{Target: wants(newID, map[string]any{"password": "canary"}), Step: release}
	out := build(t, in)
	encoded, err := yaml.Marshal(out.Deployment)
	require.NoError(t, err)
	assert.NotContains(t, string(encoded), "canary")
	assert.Equal(t, `{"password":"canary"}`, string(out.Secret.Data[ValuesKey]))
	assert.Equal(t, `{"password":"canary"}`, string(out.Secret.Data[StagedValuesKey]))
	sum := sha256.Sum256([]byte(`{"password":"canary"}{"password":"canary"}`))
	assert.Equal(t, hex.EncodeToString(sum[:]), out.Deployment.Spec.ValuesHash)
	assert.NotNil(t, in.Target.Options.Helm.Values, "the target is not changed")
}

func TestWithoutValuesThereIsNoSecret(t *testing.T) {
	for name, values := range map[string]map[string]any{"none": nil, "empty": {}} {
		out := build(t, Input{Target: wants(newID, values), Step: release})
		assert.Nil(t, out.Secret, name)
		assert.Empty(t, out.Deployment.Spec.ValuesHash, name)
		assert.False(t, out.Waiting, name)
	}
}

func TestAStagedVersionLeavesTheCurrentOneAlone(t *testing.T) {
	bd, values := running(t)
	out := build(t, Input{Target: wants(newID, map[string]any{"new": true}), Step: target.Step{Stage: true}, Existing: bd, Values: &values})
	assert.Equal(t, oldID, out.Deployment.Spec.DeploymentID)
	assert.Equal(t, newID, out.Deployment.Spec.StagedDeploymentID)
	assert.Equal(t, `{"old":true}`, string(out.Secret.Data[ValuesKey]))
	assert.Equal(t, `{"new":true}`, string(out.Secret.Data[StagedValuesKey]))
	assert.Equal(t, ValuesIn(out.Secret).Hash(), out.Deployment.Spec.ValuesHash)
	assert.Equal(t, []string{"s-old", "s-new"}, Contents(out.Deployment), "both contents are needed")

	// And when it is released, it is the current one.
	staged := ValuesIn(out.Secret)
	out = build(t, Input{Target: wants(newID, map[string]any{"new": true}), Step: target.Step{Stage: true, Promote: true}, Existing: out.Deployment, Values: &staged})
	assert.Equal(t, newID, out.Deployment.Spec.DeploymentID)
	assert.Equal(t, `{"new":true}`, string(out.Secret.Data[ValuesKey]))
}

// B07, B10: a Secret that cannot be read is not overwritten with blanks.
func TestUnknownValuesAreWaitedForAndNeverWrittenBlank(t *testing.T) {
	bd, values := running(t)
	for name, have := range map[string]*Values{"gone": nil, "of another version": {Current: []byte(`{"x":1}`), Staged: values.Staged}, "blank": {}} {
		out := build(t, Input{Target: wants(newID, map[string]any{"new": true}), Step: target.Step{Stage: true}, Existing: bd, Values: have})
		assert.True(t, out.Waiting, name)
		assert.Nil(t, out.Secret, name)
		assert.True(t, out.Deployment.Spec.WaitingForValues, name)
		assert.Equal(t, bd.Spec.ValuesHash, out.Deployment.Spec.ValuesHash, name)
		assert.Equal(t, oldID, out.Deployment.Spec.StagedDeploymentID, name)
	}
}

// The Secret is written first. Where the deployment is not written after it, the values of the version that runs are still
// known, for whatever is staged next.
func TestTheCurrentValuesOfASecretWithoutItsDeploymentAreKnown(t *testing.T) {
	bd, values := running(t)
	first := build(t, Input{Target: wants(newID, map[string]any{"new": true}), Step: target.Step{Stage: true}, Existing: bd, Values: &values})
	half := ValuesIn(first.Secret)
	for id, value := range map[string]string{newID: "new", "s-newer:3": "newer"} {
		out := build(t, Input{Target: wants(id, map[string]any{value: true}), Step: target.Step{Stage: true}, Existing: bd, Values: &half})
		assert.False(t, out.Waiting, id)
		assert.False(t, out.Deployment.Spec.WaitingForValues, id)
		assert.Equal(t, oldID, out.Deployment.Spec.DeploymentID, id)
		assert.Equal(t, `{"old":true}`, string(out.Secret.Data[ValuesKey]), id)
		assert.Equal(t, `{"`+value+`":true}`, string(out.Secret.Data[StagedValuesKey]), id)
		assert.Equal(t, ValuesIn(out.Secret).Hash(), out.Deployment.Spec.ValuesHash, id)
	}

	// What was changed since, or is of another version, is not.
	changed := first.Secret.DeepCopy()
	changed.Data[ValuesKey] = []byte(`{"x":1}`)
	other := first.Secret.DeepCopy()
	other.Annotations[CurrentAnnotation] = proofOf("s-other:1", other.Data[ValuesKey])
	bare := first.Secret.DeepCopy()
	bare.Annotations = nil
	for name, secret := range map[string]*corev1.Secret{"changed": changed, "of another version": other, "without proof": bare} {
		have := ValuesIn(secret)
		out := build(t, Input{Target: wants(newID, map[string]any{"new": true}), Step: target.Step{Stage: true}, Existing: bd, Values: &have})
		assert.True(t, out.Waiting, name)
		assert.Nil(t, out.Secret, name)
	}
}

func TestLostValuesOfTheTargetAreMadeAnew(t *testing.T) {
	bd, values := running(t)
	bd.Spec.WaitingForValues = true
	out := build(t, Input{Target: wants(oldID, map[string]any{"old": true}), Existing: bd})
	assert.False(t, out.Waiting)
	assert.False(t, out.Deployment.Spec.WaitingForValues)
	assert.Equal(t, values, ValuesIn(out.Secret))

	out = build(t, Input{Target: wants(newID, map[string]any{"new": true}), Step: target.Step{Stage: true, Promote: true}, Existing: bd})
	assert.False(t, out.Waiting)
	assert.Equal(t, `{"new":true}`, string(out.Secret.Data[ValuesKey]))
}

func TestNothingToWriteWhenNothingChanged(t *testing.T) {
	bd, values := running(t)
	out := build(t, Input{Target: wants(oldID, map[string]any{"old": true}), Existing: bd, Values: &values})
	assert.True(t, Same(bd, out.Deployment))
	assert.True(t, SameSecret(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Labels: out.Secret.Labels, Annotations: map[string]string{"by": "others"}}, Type: out.Secret.Type,
		Data: map[string][]byte{ValuesKey: values.Current, StagedValuesKey: values.Staged},
	}, out.Secret))

	bd.Labels["stray"] = "x"
	assert.False(t, Same(bd, out.Deployment))
}

func TestSyncWritesWhatIsNotPartOfTheID(t *testing.T) {
	bd, values := running(t)
	want := wants(oldID, map[string]any{"old": true})
	want.Options.Diff = &fleet.DiffOptions{ComparePatches: []fleet.ComparePatch{{Kind: "ConfigMap"}}}
	out := build(t, Input{Target: want, Step: target.Step{Stage: true, Sync: true}, Existing: bd, Values: &values})
	assert.Equal(t, want.Options.Diff, out.Deployment.Spec.Options.Diff)
	assert.Equal(t, want.Options.Diff, out.Deployment.Spec.StagedOptions.Diff)

	out = build(t, Input{Target: want, Existing: bd, Values: &values})
	assert.Nil(t, out.Deployment.Spec.Options.Diff, "the rollout did not allow it")
}

func TestPausedAndOffSchedule(t *testing.T) {
	for name, test := range map[string]struct {
		change              func(*fleet.Bundle, *fleet.Cluster)
		paused, offSchedule bool
	}{
		"neither":            {func(*fleet.Bundle, *fleet.Cluster) {}, false, false},
		"a paused bundle":    {func(b *fleet.Bundle, _ *fleet.Cluster) { b.Spec.Paused = true }, true, false},
		"a paused cluster":   {func(_ *fleet.Bundle, c *fleet.Cluster) { c.Spec.Paused = true }, true, false},
		"outside a schedule": {func(_ *fleet.Bundle, c *fleet.Cluster) { c.Status.Scheduled = true }, false, true},
		"within a schedule":  {func(_ *fleet.Bundle, c *fleet.Cluster) { c.Status.Scheduled, c.Status.ActiveSchedule = true, true }, false, false},
	} {
		b, want := bundle(), wants(newID, nil)
		test.change(b, want.Cluster)
		out := build(t, Input{Bundle: b, Target: want, Step: release})
		assert.Equal(t, test.paused, out.Deployment.Spec.Paused, name)
		assert.Equal(t, test.offSchedule, out.Deployment.Spec.OffSchedule, name)
	}
}

func TestLabelsFollowTheBundle(t *testing.T) {
	bd, values := running(t)
	bd.Labels["removed"] = "x"
	out := build(t, Input{Target: wants(oldID, map[string]any{"old": true}), Existing: bd, Values: &values})
	assert.NotContains(t, out.Deployment.Labels, "removed")
	assert.NotContains(t, out.Deployment.Labels, "management.cattle.io/x")
	assert.NotContains(t, out.Deployment.Labels, "kubectl.kubernetes.io/y")
	assert.Equal(t, "repo", out.Deployment.Labels[fleet.RepoLabel])
	assert.Equal(t, "blue", out.Deployment.Labels["team"])
}

func TestOnlyTheAgentsOwnDeploymentIsMarkedSo(t *testing.T) {
	b, want := bundle(), wants(newID, nil)
	want.Cluster.UID = "uid-of-edge"
	b.Labels[names.AgentBundleLabel] = "true"
	out := build(t, Input{Bundle: b, Target: want, Step: release})
	assert.NotContains(t, out.Deployment.Labels, names.AgentBundleLabel, "whatever the bundle says")
	b.Name, b.OwnerReferences = "fleet-agent-edge", []metav1.OwnerReference{{Kind: "Cluster", Name: "edge", UID: "uid-of-edge"}}
	out = build(t, Input{Bundle: b, Target: want, Step: release})
	assert.Equal(t, "true", out.Deployment.Labels[names.AgentBundleLabel])
}

// The number that stands for what is copied changes with what is in it, and with nothing else.
func TestTheNumberOfCopiesFollowsTheirContent(t *testing.T) {
	secret := func(name, value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: name, ResourceVersion: value}, Data: map[string][]byte{"k": []byte("v")}}
	}
	assert.Zero(t, CopiesGeneration(nil))
	one := CopiesGeneration([]runtime.Object{secret("a", "1")})
	assert.Positive(t, one)
	assert.Equal(t, one, CopiesGeneration([]runtime.Object{secret("a", "2")}), "what is not copied does not count")
	assert.NotEqual(t, one, CopiesGeneration([]runtime.Object{secret("b", "1")}))
	other := secret("a", "1")
	other.Data["k"] = []byte("w")
	assert.NotEqual(t, one, CopiesGeneration([]runtime.Object{other}))
	assert.NotEqual(t, one, CopiesGeneration([]runtime.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}}))
	assert.Empty(t, CopyProblem(Copy{Kind: SecretKind, Name: "a"}))
	assert.Contains(t, CopyProblem(Copy{Kind: "pod", Name: "a"}), "cannot be copied")
}

// Who may make bundles need not be one who may read Secrets.
func TestSecretsThatGiveAccessAreNotCopied(t *testing.T) {
	of := func(kind corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "x"}, Type: kind}
	}
	for _, kind := range []corev1.SecretType{
		fleet.SecretTypeBundleDeploymentOptions, fleet.SecretTypeBundleValues, names.ValuesSecretType, names.CredentialSecretType,
		corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken,
	} {
		assert.Equal(t, "secret ws/x is not copied, since it is of type "+string(kind)+
			": name another Secret with only what the cluster needs, or remove the entry", SourceProblem(of(kind), ""), kind)
	}
	for _, kind := range []corev1.SecretType{corev1.SecretTypeOpaque, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeTLS, "example.com/own"} {
		assert.Empty(t, SourceProblem(of(kind), ""), kind)
		assert.Contains(t, SourceProblem(of(kind), "ws/edge"), "(spec.kubeConfigSecret) of Cluster ws/edge", kind)
	}
}

// D03: a name that no label can hold is a bundle's name all the same.
func TestABundleWithANameThatNoLabelHoldsMakesALabel(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 253), strings.Repeat("a.b-", 50) + "c", "app"} {
		b := bundle()
		b.Name = name
		out := build(t, Input{Bundle: b, Target: wants(newID, map[string]any{"a": "b"}), Step: release})
		require.NotNil(t, out.Secret)
		assert.Equal(t, name, out.Deployment.Name)
		for _, labels := range []map[string]string{out.Deployment.Labels, out.Secret.Labels} {
			for key, value := range labels {
				assert.Empty(t, validation.IsValidLabelValue(value), "%s: %s", name, key)
			}
		}
	}
}
