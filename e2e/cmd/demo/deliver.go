package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// shopText is what the demo's ConfigMaps say, driftText what somebody makes of it.
	shopText  = "open from 9 to 5"
	driftText = "closed"
)

// deliver brings a bundle of each kind to the clusters that it is for.
func (d *demo) deliver(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for _, order := range d.orders() {
		group.Go(func() error { return d.deliverOne(groupCtx, order) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return d.correct(ctx)
}

// order is a bundle, and the clusters that it is to reach.
type order struct {
	kind   string
	bundle *fleet.Bundle
	to     []*stage.Cluster
}

func (d *demo) orders() []order {
	plain := demoBundle("shop-hours", fleet.BundleTarget{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "demo"}}},
		fleet.BundleResource{Name: "hours.yaml", Content: configMapText("shop-hours", shopText)})
	plain.Spec.CorrectDrift = &fleet.CorrectDrift{Enabled: true}
	chart := demoBundle("shop-web", fleet.BundleTarget{ClusterName: edge1},
		fleet.BundleResource{Name: "Chart.yaml", Content: "apiVersion: v2\nname: shop-web\nversion: 1.0.0\n"},
		fleet.BundleResource{Name: "values.yaml", Content: "replicas: 1\n"},
		fleet.BundleResource{Name: "templates/web.yaml", Content: `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: shop-web}}
  template:
    metadata: {labels: {app: shop-web}}
    spec: {containers: [{name: web, image: nginx}]}
`})
	chart.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"replicas": 2}}}
	kustomization := demoBundle("shop-theme", fleet.BundleTarget{ClusterName: edge2},
		fleet.BundleResource{Name: "kustomization.yaml", Content: "namePrefix: dark-\nresources: [theme.yaml]\n"},
		fleet.BundleResource{Name: "theme.yaml", Content: configMapText("shop-theme", "dark")})
	return []order{
		{"plain manifests", plain, []*stage.Cluster{d.edge1, d.edge2}},
		{"a Helm chart", chart, []*stage.Cluster{d.edge1}},
		{"a kustomization", kustomization, []*stage.Cluster{d.edge2}},
	}
}

func demoBundle(name string, target fleet.BundleTarget, resources ...fleet.BundleResource) *fleet.Bundle {
	b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.DefaultNamespace = "shop"
	b.Spec.Resources, b.Spec.Targets = resources, []fleet.BundleTarget{target}
	return b
}

func configMapText(name, text string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {text: %q}\n", name, text)
}

// deliverOne writes a bundle to the hub and waits until it is Ready, where it is to be and nowhere else.
func (d *demo) deliverOne(ctx context.Context, o order) error {
	name := o.bundle.Name
	if err := stage.Create(ctx, d.stage.Hub, stage.Bundles, "Bundle", stage.Workspace, o.bundle); err != nil {
		return err
	}
	err := stage.Await(ctx, "bundle "+name+" to be Ready", func(ctx context.Context) (bool, string, error) {
		b, err := stage.Get[fleet.Bundle](ctx, d.stage.Hub, stage.Bundles, stage.Workspace, name)
		if err != nil || b == nil {
			return false, "there is none", err
		}
		done := b.Status.Summary.Ready == len(o.to) && b.Status.Summary.DesiredReady == len(o.to) && stage.IsTrue(b.Status.Conditions, "Ready")
		return done, stage.Conditions(b.Status.Conditions), nil
	})
	if err != nil {
		return err
	}
	for _, cluster := range []*stage.Cluster{d.edge1, d.edge2} {
		if err := d.checkPlace(ctx, o, cluster); err != nil {
			return err
		}
	}
	d.step("bundle %s, %s: Ready on %d of 2 clusters", name, o.kind, len(o.to))
	return nil
}

// checkPlace looks for what a bundle brings on a cluster.
func (d *demo) checkPlace(ctx context.Context, o order, cluster *stage.Cluster) error {
	wanted := false
	for _, c := range o.to {
		wanted = wanted || c == cluster
	}
	var err error
	switch o.bundle.Name {
	case "shop-web":
		_, err = cluster.Kube.AppsV1().Deployments("shop").Get(ctx, "shop-web", metav1.GetOptions{})
	case "shop-theme":
		_, err = cluster.Kube.CoreV1().ConfigMaps("shop").Get(ctx, "dark-shop-theme", metav1.GetOptions{})
	default:
		_, err = cluster.Kube.CoreV1().ConfigMaps("shop").Get(ctx, o.bundle.Name, metav1.GetOptions{})
	}
	switch {
	case err == nil && !wanted:
		return fmt.Errorf("bundle %s is on %s, which it is not for", o.bundle.Name, cluster.Name)
	case apierrors.IsNotFound(err) && !wanted:
		return nil
	case err != nil:
		return fmt.Errorf("bundle %s is Ready, and on %s: %w", o.bundle.Name, cluster.Name, err)
	}
	return nil
}

// correct lets somebody change on a cluster what a bundle brought, and waits until it is as before.
func (d *demo) correct(ctx context.Context) error {
	maps := d.edge1.Kube.CoreV1().ConfigMaps("shop")
	if _, err := maps.Patch(ctx, "shop-hours", types.MergePatchType, []byte(`{"data":{"text":"`+driftText+`"}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("changing ConfigMap shop/shop-hours on %s: %w", d.edge1.Name, err)
	}
	d.step("%s: somebody changed what bundle shop-hours had brought", edge1)
	err := stage.Await(ctx, "the correction of ConfigMap shop/shop-hours", func(ctx context.Context) (bool, string, error) {
		cm, err := maps.Get(ctx, "shop-hours", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return cm.Data["text"] == shopText, cm.Data["text"], nil
	})
	if err != nil {
		return err
	}
	d.step("%s: the agent set it back", edge1)
	return nil
}

// awaitAgentBundles waits until every cluster's own agent is a bundle that is Ready.
func (d *demo) awaitAgentBundles(ctx context.Context) error {
	err := errors.Join(
		d.awaitAgentBundle(ctx, stage.LocalWorkspace, local),
		d.awaitAgentBundle(ctx, stage.Workspace, edge1),
		d.awaitAgentBundle(ctx, stage.Workspace, edge2),
	)
	if err != nil {
		return err
	}
	d.step("the agents of all three clusters are bundles of the hub, and Ready")
	return nil
}

func (d *demo) awaitAgentBundle(ctx context.Context, workspace, cluster string) error {
	name := "fleet-agent-" + cluster
	return stage.Await(ctx, "bundle "+name+" to be Ready", func(ctx context.Context) (bool, string, error) {
		b, err := stage.Get[fleet.Bundle](ctx, d.stage.Hub, stage.Bundles, workspace, name)
		if err != nil || b == nil {
			return false, "there is none", err
		}
		done := b.Status.ObservedGeneration == b.Generation && b.Status.Summary.Ready == 1 && stage.IsTrue(b.Status.Conditions, "Ready")
		return done, stage.Conditions(b.Status.Conditions), nil
	})
}
