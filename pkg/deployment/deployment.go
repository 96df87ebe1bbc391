package deployment

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/target"

	corev1 "k8s.io/api/core/v1"
)

// Input is what a deployment is made of.
type Input struct {
	Bundle *fleet.Bundle
	Target target.Target
	Step   target.Step
	// Namespace is that of the cluster, on the hub.
	Namespace string
	// Content is the name of the Content that holds the resources, empty where they are somewhere else.
	Content string
	// Copies is a number that stands for the objects that are copied to the cluster, 0 where there are none.
	Copies int64
	// Existing is the deployment that is there, nil where there is none.
	Existing *fleet.BundleDeployment
	// Values are those that the Secret of Existing holds, nil where there is no Secret.
	Values *Values
}

// Output is what should be.
type Output struct {
	Deployment *fleet.BundleDeployment
	// Secret is the one with the values, nil where there are none, or where it is to be left as it is.
	Secret *corev1.Secret
	// Waiting says that the values of the version that runs are not known. It ends when the rollout releases the next one.
	Waiting bool
}

// Build makes the deployment as it should be. Whether it differs from what exists is for the caller to see.
func Build(in Input) (Output, error) {
	options, values, err := split(in.Target.Options)
	if err != nil {
		return Output{}, err
	}
	bd := &fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Bundle.Name}}
	if in.Existing != nil {
		bd = in.Existing.DeepCopy()
	}
	bd.Labels = labels(in)
	if !slices.Contains(bd.Finalizers, names.BundleDeploymentFinalizer) && bd.DeletionTimestamp == nil {
		bd.Finalizers = append(bd.Finalizers, names.BundleDeploymentFinalizer)
	}
	bd.Spec.Paused = in.Bundle.Spec.Paused || in.Target.Cluster.Spec.Paused
	bd.Spec.OffSchedule = in.Target.Cluster.Status.Scheduled && !in.Target.Cluster.Status.ActiveSchedule
	bd.Spec.DependsOn = in.Bundle.Spec.DependsOn
	bd.Spec.CorrectDrift = options.CorrectDrift
	bd.Spec.HelmChartOptions = in.Bundle.Spec.HelmOpOptions
	bd.Spec.OCIContents = in.Bundle.Spec.ContentsID != "" && in.Bundle.Spec.HelmOpOptions == nil
	bd.Spec.DownstreamResourcesGeneration = in.Copies
	return version(in, bd, options, values), nil
}

// version writes options, identifiers and values as far as the rollout allows it.
func version(in Input, bd *fleet.BundleDeployment, options fleet.BundleDeploymentOptions, values []byte) Output {
	have, known := known(in)
	current := in.Step.Promote || in.Step.Sync || bd.Spec.DeploymentID == in.Target.DeploymentID
	if !known && !current {
		bd.Spec.WaitingForValues = true
		return Output{Deployment: bd, Waiting: true}
	}
	bd.Spec.WaitingForValues = false
	want := have
	if in.Step.Stage || in.Step.Promote {
		bd.Spec.StagedOptions, bd.Spec.StagedDeploymentID = options, in.Target.DeploymentID
	}
	if in.Step.Promote || in.Step.Sync {
		bd.Spec.Options, bd.Spec.DeploymentID = options, in.Target.DeploymentID
	}
	// The values of a version are part of its ID: those of the target's can be written anew whatever became of them.
	if bd.Spec.StagedDeploymentID == in.Target.DeploymentID {
		want.Staged = values
	}
	if bd.Spec.DeploymentID == in.Target.DeploymentID {
		want.Current = values
	}
	bd.Spec.ValuesHash = want.Hash()
	return Output{Deployment: bd, Secret: secret(in, want, bd.Spec.DeploymentID)}
}

// known are the values that the existing deployment runs with. It names them by their digest: what does not match is
// another version's, or was changed by somebody else. Where the Secret was written and the deployment was not, the current
// half proves itself, and the other one is made anew.
func known(in Input) (Values, bool) {
	switch {
	case in.Existing == nil || in.Existing.Spec.ValuesHash == "":
		return Values{}, true
	case in.Values == nil:
		return Values{}, false
	case in.Values.Hash() == in.Existing.Spec.ValuesHash:
		return *in.Values, true
	case in.Step.Stage && in.Values.provenFor(in.Existing.Spec.DeploymentID):
		return Values{Current: in.Values.Current}, true
	default:
		return Values{}, false
	}
}

// secret is the one with the values; current is the version that they are of.
func secret(in Input, values Values, current string) *corev1.Secret {
	if values.Hash() == "" {
		return nil
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Namespace, Name: in.Bundle.Name,
			Labels: map[string]string{
				names.ManagedLabel:         "true",
				fleet.BundleLabel:          names.LabelValue(in.Bundle.Name),
				fleet.BundleNamespaceLabel: in.Bundle.Namespace,
			},
			Annotations: map[string]string{CurrentAnnotation: proofOf(current, values.Current)},
		},
		Type: fleet.SecretTypeBundleDeploymentOptions,
		Data: map[string][]byte{ValuesKey: values.Current, StagedValuesKey: values.Staged},
	}
}

// foreign are the prefix and the part of a label's key that say it belongs to another program.
const (
	foreignPrefix = "kubectl.kubernetes.io/"
	foreignPart   = "cattle.io"
)

// labels are the bundle's own, and those by which the deployment is found.
func labels(in Input) map[string]string {
	all := map[string]string{}
	agent := names.IsAgentBundle(in.Bundle, in.Target.Cluster)
	for key, value := range in.Bundle.Labels {
		if agent {
			break // it has none; somebody else's are not for what runs with the agent's rights
		}
		own := strings.HasPrefix(key, names.Prefix)
		if own || !strings.HasPrefix(key, foreignPrefix) && !strings.Contains(key, foreignPart) {
			all[key] = value
		}
	}
	maps.Copy(all, map[string]string{
		names.ManagedLabel:          "true",
		fleet.BundleLabel:           names.LabelValue(in.Bundle.Name),
		fleet.BundleNamespaceLabel:  in.Bundle.Namespace,
		names.ClusterLabel:          names.LabelValue(in.Target.Cluster.Name),
		names.ClusterNamespaceLabel: in.Target.Cluster.Namespace,
	})
	if in.Content != "" {
		all[fleet.ContentNameLabel] = in.Content
	}
	delete(all, names.AgentBundleLabel)
	if agent {
		all[names.AgentBundleLabel] = "true"
	}
	return all
}
