package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
)

// deployInput is what a file for `fleet deploy` has in it.
type deployInput struct {
	deployments []*fleet.BundleDeployment
	contents    map[string]*fleet.Content
	values      []*corev1.Secret
	// strange is what is not understood.
	strange []string
}

// readDeployFile reads a BundleDeployment, its Content, and the Secret with its values if they are in one.
func readDeployFile(c *cli.Context, file string) (helmdeployer.Job, error) {
	data, err := readInput(c, file)
	if err != nil {
		return helmdeployer.Job{}, err
	}
	all, err := documents(data)
	if err != nil {
		return helmdeployer.Job{}, fmt.Errorf("%s is no YAML: %s", file, plain(err))
	}
	in := deployInput{contents: map[string]*fleet.Content{}}
	for _, document := range all {
		if err := in.add(document); err != nil {
			return helmdeployer.Job{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	noteStrange(c, file, in.strange)
	job, err := in.job()
	if err != nil {
		return job, fmt.Errorf("%s: %w", file, err)
	}
	return job, nil
}

// input is a document: an object, or a list of them, as `fleet target -o json` writes it.
type input struct {
	metav1.TypeMeta
	Items []json.RawMessage `json:"items"`
}

func (in *deployInput) add(document []byte) error {
	var head input
	if err := yaml.Unmarshal(document, &head); err != nil {
		return errors.New(plain(err))
	}
	if head.Kind == "" || head.Kind == "List" {
		for _, item := range head.Items {
			if err := in.addObject(item); err != nil {
				return err
			}
		}
		if len(head.Items) > 0 {
			return nil
		}
	}
	return in.addObject(document)
}

func (in *deployInput) addObject(document []byte) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return errors.New(plain(err))
	}
	switch meta.Kind {
	case "BundleDeployment":
		bd := &fleet.BundleDeployment{}
		strange, err := decode(document, bd)
		if err != nil {
			return fmt.Errorf("BundleDeployment: %w", err)
		}
		in.deployments, in.strange = append(in.deployments, bd), append(in.strange, strange...)
	case "Content":
		stored := &fleet.Content{}
		strange, err := decode(document, stored)
		if err != nil {
			return fmt.Errorf("Content: %w", err)
		}
		in.contents[stored.Name], in.strange = stored, append(in.strange, strange...)
	case "Secret":
		secret := &corev1.Secret{}
		if yaml.Unmarshal(document, secret) != nil {
			return fmt.Errorf("a Secret in it cannot be read") // the error would repeat what is in it
		}
		in.values = append(in.values, secret)
	default:
		return fmt.Errorf("kind %.64q has no business here: it must have one BundleDeployment, its Content and, where it names values, their Secret", meta.Kind)
	}
	return nil
}

// job is the one deployment that the input has.
func (in *deployInput) job() (job helmdeployer.Job, err error) {
	if n := len(in.deployments); n != 1 {
		return job, fmt.Errorf("it has %d BundleDeployments, and must have one; choose it with `fleet target --cluster NAME`", n)
	}
	bd := in.deployments[0]
	if err := validName("metadata.name of the BundleDeployment", bd.Name); err != nil {
		return job, err
	}
	if isAgents(bd) {
		return job, fmt.Errorf("BundleDeployment %s is an agent's own, which only that agent deploys", bd.Name)
	}
	job = helmdeployer.Job{Name: bd.Name, Commit: bd.Labels[fleet.CommitLabel], Options: bd.Spec.Options}
	job.ManifestID, _, _ = strings.Cut(bd.Spec.DeploymentID, ":")
	switch {
	case bd.Spec.DeploymentID == "":
		return job, fmt.Errorf("BundleDeployment %s: spec.deploymentID is empty: nothing is released to it", bd.Name)
	case bd.Spec.OCIContents:
		return job, fmt.Errorf("BundleDeployment %s: spec.ociContents: its content is in a registry, and only an agent fetches it from there", bd.Name)
	case bd.Spec.HelmChartOptions != nil:
	case in.contents[job.ManifestID] == nil:
		return job, fmt.Errorf("BundleDeployment %s: there is no Content %.64s with it, which spec.deploymentID names", bd.Name, job.ManifestID)
	default:
		manifest, err := content.Decode(in.contents[job.ManifestID])
		if err != nil {
			return job, err
		}
		if job.Files, err = manifest.Files(); err != nil {
			return job, err
		}
	}
	return job, in.addValues(bd, &job)
}

// isAgents says whether a deployment is that of a cluster's own agent. A hub of the reference does not mark it.
func isAgents(bd *fleet.BundleDeployment) bool {
	cluster := bd.Labels[names.ClusterLabel]
	return bd.Labels[names.AgentBundleLabel] == "true" ||
		cluster != "" && bd.Name == names.AgentBundle(cluster) && bd.Labels[fleet.BundleNamespaceLabel] == bd.Labels[names.ClusterNamespaceLabel]
}

// addValues takes the values from their Secret, where the deployment says that they are in one.
func (in *deployInput) addValues(bd *fleet.BundleDeployment, job *helmdeployer.Job) error {
	if bd.Spec.ValuesHash == "" {
		return nil
	}
	for _, secret := range in.values {
		if secret.Name != bd.Name || secret.Namespace != bd.Namespace {
			continue
		}
		values := deployment.ValuesIn(secret)
		if values.Hash() != bd.Spec.ValuesHash {
			return fmt.Errorf("Secret %s/%s has other values than spec.valuesHash of the BundleDeployment names", secret.Namespace, secret.Name)
		}
		if len(values.Current) == 0 {
			return nil
		}
		helm := fleet.HelmOptions{}
		if job.Options.Helm != nil {
			helm = *job.Options.Helm
		}
		helm.Values = &fleet.GenericMap{}
		if json.Unmarshal(values.Current, &helm.Values.Data) != nil {
			return fmt.Errorf("Secret %s/%s: key %s is no JSON object", secret.Namespace, secret.Name, deployment.ValuesKey)
		}
		job.Options.Helm = &helm
		return nil
	}
	return fmt.Errorf("BundleDeployment %s/%s: its values are in the Secret of that name, as spec.valuesHash says: add it to the file, or take what `fleet target` prints",
		bd.Namespace, bd.Name)
}
