package rancher

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"text/template"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// SetID is the name of the set of objects that Rancher keeps for one of its clusters.
const SetID = "fleet-cluster"

// Resources that Rancher writes or reads beside those of the stage.
var (
	Groups      = fleet.SchemeGroupVersion.WithResource("clustergroups")
	Deployments = fleet.SchemeGroupVersion.WithResource("bundledeployments")
	Mappings    = fleet.SchemeGroupVersion.WithResource("bundlenamespacemappings")
)

//go:embed data/*.yaml
var data embed.FS

// Client is Rancher on one hub.
type Client struct {
	hub   *stage.Cluster
	apply apply.Apply
}

// New is Rancher on a hub. It applies with wrangler's three-way merge, as Rancher does.
func New(hub *stage.Cluster) (*Client, error) {
	a, err := apply.NewForConfig(hub.Config)
	if err != nil {
		return nil, fmt.Errorf("Rancher on %s: %w", hub.Name, err)
	}
	return &Client{hub: hub, apply: a.WithDynamicLookup()}, nil
}

// set is the set of objects of one of Rancher's clusters, which are pruned in all namespaces.
func (c *Client) set(ctx context.Context, p Provisioned) apply.Apply {
	owner := &unstructured.Unstructured{}
	owner.SetAPIVersion("provisioning.cattle.io/v1")
	owner.SetKind("Cluster")
	owner.SetNamespace(p.Namespace)
	owner.SetName(p.Name)
	owner.SetUID(types.UID(p.Namespace + "-" + p.Name))
	kind := func(name string) schema.GroupVersionKind { return fleet.SchemeGroupVersion.WithKind(name) }
	return c.apply.WithContext(ctx).WithSetID(SetID).WithOwner(owner).WithGVK(kind("Cluster"), kind("ClusterGroup"))
}

// WriteCluster makes the hub's objects of a cluster what Rancher wants them to be.
func (c *Client) WriteCluster(ctx context.Context, p Provisioned) error {
	objects := []runtime.Object{}
	cluster, err := read("cluster.yaml", p)
	if err != nil {
		return err
	}
	objects = append(objects, cluster)
	if p.Local() {
		group, err := read("clustergroup.yaml", p)
		if err != nil {
			return err
		}
		objects = append(objects, group)
	}
	if err := c.set(ctx, p).ApplyObjects(objects...); err != nil {
		return fmt.Errorf("Rancher writes cluster %s: %w", p.Name, err)
	}
	return nil
}

// RemoveCluster is what follows when a cluster is removed from Rancher: the set is empty.
func (c *Client) RemoveCluster(ctx context.Context, p Provisioned) error {
	if err := c.set(ctx, p).ApplyObjects(); err != nil {
		return fmt.Errorf("Rancher removes cluster %s: %w", p.Name, err)
	}
	return nil
}

// read fills one file of the data.
func read(file string, values any) (*unstructured.Unstructured, error) {
	parsed, err := template.New(file).Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON}).ParseFS(data, "data/"+file)
	if err != nil {
		return nil, fmt.Errorf("data %s: %w", file, err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, values); err != nil {
		return nil, fmt.Errorf("data %s: %w", file, err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text.Bytes(), &object.Object); err != nil {
		return nil, fmt.Errorf("data %s: %w", file, err)
	}
	return object, nil
}

// toJSON is a value within a file of the data; JSON is YAML too.
func toJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}
