package helmdeployer

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// RenderInput is a bundle that is to be rendered without a cluster.
type RenderInput struct {
	Job
	// AgentNamespace is that of the agent which would deploy it.
	AgentNamespace string
	// Scope is that agent's.
	Scope string
	// KubeVersion is the version that charts are rendered for; empty means the newest that Helm knows.
	KubeVersion string
	// APIVersions are served besides the built-in ones.
	APIVersions []string
	// Kinds says which kinds have namespaces, besides the built-in ones and those that the bundle defines.
	Kinds render.Scopes
}

// Render makes the objects of a bundle without a cluster, in the order in which they would be applied; the definitions of
// its chart come first, and hooks last. valuesFrom is not read: there is nothing to read it from.
func Render(ctx context.Context, in RenderInput) ([]*unstructured.Unstructured, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	d := &Deployer{cfg: Config{Namespace: in.AgentNamespace, Scope: in.Scope}}
	op := &operation{d: d, ctx: ctx, job: in.Job, namespace: Namespace(in.Options), name: ReleaseName(in.Name, in.Options)}
	if err := op.openBundle(); err != nil {
		return nil, err
	}
	install, err := offlineInstall(op, in)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if in.Options.Helm != nil && in.Options.Helm.Values != nil {
		values = mergeValues(values, in.Options.Helm.Values.DeepCopy().Data)
	}
	rendered, err := install.RunWithContext(ctx, op.bundle.Chart, values)
	if err != nil {
		return nil, fmt.Errorf("rendering bundle %s: %w", in.Name, err)
	}
	objects := render.ChartCRDs(op.bundle.Chart)
	more, err := render.Decode([]byte(rendered.Manifest))
	if err != nil {
		return nil, fmt.Errorf("rendering bundle %s: %w", in.Name, err)
	}
	objects = append(objects, more...)
	for _, hook := range rendered.Hooks {
		more, err := render.Decode([]byte(hook.Manifest))
		if err != nil {
			return nil, fmt.Errorf("rendering bundle %s: hook %s: %w", in.Name, hook.Path, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

func offlineInstall(op *operation, in RenderInput) (*action.Install, error) {
	finish := op.finish()
	finish.Scopes, finish.Accept = scopes{in.Kinds}, nil
	install := action.NewInstall(&action.Configuration{Log: debug})
	install.ClientOnly, install.DryRun = true, true
	install.ReleaseName, install.Namespace = op.name, op.namespace
	install.SkipCRDs = true
	install.EnableDNS = false
	install.SkipSchemaValidation = in.helm().SkipSchemaValidation
	install.PostRenderer = finish
	install.APIVersions = in.APIVersions
	if in.KubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(in.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("version %.40q of Kubernetes: %w", in.KubeVersion, err)
		}
		install.KubeVersion = version
	}
	return install, nil
}
