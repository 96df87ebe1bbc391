package bundledeployment

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// files are what is to be deployed. Where they cannot be had, or are none, that is an error: nothing is deployed then,
// and what is deployed stays.
func (p *pass) files(ctx context.Context) ([]content.File, error) {
	if p.bd.Spec.OCIContents {
		return nil, &notTakenOn{"the contents are in an OCI registry (spec.ociContents), which this agent cannot read: store them on the hub"}
	}
	if p.bd.Spec.HelmChartOptions != nil {
		return nil, nil
	}
	found, err := p.contents.get(ctx, p.session, manifestOf(p.bd.Spec.DeploymentID))
	if err != nil {
		return nil, &fromHub{err}
	}
	manifest, err := content.Decode(found)
	if err != nil {
		p.contents.drop(found.Name)
		return nil, &fromHub{err}
	}
	unpacked, err := manifest.Files()
	if err != nil {
		return nil, &notTakenOn{fmt.Sprintf("content %s: %v", manifest.ID(), err)}
	}
	if len(unpacked) == 0 && !isRemoteChart(p.bd.Spec.Options) {
		return nil, &notTakenOn{fmt.Sprintf("content %s holds no resources: nothing is deployed, and nothing is removed. Pause or delete the bundle instead", manifest.ID())}
	}
	return unpacked, nil
}

// isRemoteChart says whether the chart does not come with the files.
func isRemoteChart(o fleet.BundleDeploymentOptions) bool {
	return o.Helm != nil && (o.Helm.Repo != "" || strings.Contains(o.Helm.Chart, "://"))
}

// chartAccess is how the repository of a chart is reached, from a Secret of the cluster's namespace on the hub.
func (p *pass) chartAccess(ctx context.Context) (helmdeployer.ChartAccess, error) {
	o := p.bd.Spec.HelmChartOptions
	if o == nil {
		return helmdeployer.ChartAccess{}, nil
	}
	access := helmdeployer.ChartAccess{CABundle: o.CABundle, InsecureSkipTLSVerify: o.InsecureSkipTLSverify}
	if o.SecretName == "" {
		return access, nil
	}
	secret, err := p.session.Secret(ctx, p.bd.Namespace, o.SecretName)
	if err != nil {
		return access, &fromHub{fmt.Errorf("Secret %s/%s with the access to the chart: %w", p.bd.Namespace, o.SecretName, err)}
	}
	access.Username = string(secret.Data[corev1.BasicAuthUsernameKey])
	access.Password = string(secret.Data[corev1.BasicAuthPasswordKey])
	if ca := secret.Data[keyCACerts]; len(ca) > 0 {
		access.CABundle = ca
	}
	return access, nil
}

// keyCACerts is the key of such a Secret under which certificates are.
const keyCACerts = "cacerts"

// maxContents bounds what is kept of contents, packed, in bytes.
const maxContents = 2 << 20

// contents keeps a few contents while their deployment fails and is tried again. What was deployed is let go.
type contents struct {
	mu    sync.Mutex
	kept  []*fleet.Content // the latest last
	bytes int
}

func newContents() *contents { return &contents{} }

func (c *contents) get(ctx context.Context, from Hub, name string) (*fleet.Content, error) {
	if found := c.find(name); found != nil {
		return found, nil
	}
	found, err := from.Content(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("content %s: %w", name, err)
	}
	if found.Name != name {
		return nil, fmt.Errorf("content %s: the hub answered with another one", name)
	}
	c.keep(found)
	return found, nil
}

func (c *contents) find(name string) *fleet.Content {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kept := range c.kept {
		if kept.Name == name {
			return kept
		}
	}
	return nil
}

func (c *contents) keep(found *fleet.Content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept, c.bytes = append(c.kept, found), c.bytes+len(found.Content)
	for c.bytes > maxContents {
		c.bytes -= len(c.kept[0].Content)
		c.kept[0] = nil
		c.kept = c.kept[1:]
	}
}

func (c *contents) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, kept := range c.kept {
		if kept.Name == name {
			c.bytes -= len(kept.Content)
			c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
			return
		}
	}
}
