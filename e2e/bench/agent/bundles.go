package agent

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// atOnce is how many bundles are created at a time where they are not timed.
const atOnce = 10

// next makes the next bundle, of one ConfigMap, and returns its name.
func (b *bed) next(ctx context.Context) (string, error) {
	name := fmt.Sprintf("bench-%03d", b.bundles)
	b.bundles++
	return name, b.create(ctx, name)
}

func (b *bed) create(ctx context.Context, name string) error {
	bundle := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Name: name}}
	bundle.Spec.DefaultNamespace = name
	bundle.Spec.Resources = []fleet.BundleResource{{
		Name: "cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {text: some text}\n",
	}}
	bundle.Spec.Targets = []fleet.BundleTarget{{ClusterName: clusterName}}
	return stage.Create(ctx, b.Hub.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle)
}

// deliverTimed delivers one bundle, and says how long it took until its object was there, and until it was Ready.
func (b *bed) deliverTimed(ctx context.Context) (applied, ready time.Duration, err error) {
	began := time.Now()
	name, err := b.next(ctx)
	if err != nil {
		return 0, 0, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := stage.AwaitEvery(ctx, betweenLooks, "the object of "+name, func(ctx context.Context) (bool, string, error) {
			_, err := b.edge.Kube.CoreV1().ConfigMaps(name).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, "none", nil
			}
			return err == nil, "", err
		})
		applied = time.Since(began)
		return err
	})
	group.Go(func() error {
		err := b.awaitReady(ctx, name)
		ready = time.Since(began)
		return err
	})
	return applied, ready, group.Wait()
}

// fill delivers bundles until there are so many.
func (b *bed) fill(ctx context.Context, size int) error {
	if b.bundles >= size {
		return nil
	}
	b.o.Hub.Tell("%d bundles more", size-b.bundles)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for b.bundles < size {
		name := fmt.Sprintf("bench-%03d", b.bundles)
		b.bundles++
		group.Go(func() error { return b.create(inner, name) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := range size {
		if err := b.awaitReady(ctx, fmt.Sprintf("bench-%03d", i)); err != nil {
			return err
		}
	}
	return nil
}

// awaitReady waits until a bundle is Ready on the cluster.
func (b *bed) awaitReady(ctx context.Context, name string) error {
	return stage.AwaitEvery(ctx, betweenLooks, "bundle "+name+" to be ready", func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub.Hub, stage.Bundles, stage.Workspace, name)
		if err != nil || bundle == nil {
			return false, "no bundle", err
		}
		s := bundle.Status
		return s.ObservedGeneration == bundle.Generation && s.Summary.DesiredReady == 1 && s.Summary.Ready == 1, fmt.Sprintf("%+v", s.Summary), nil
	})
}
