package stage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Key names an object, whatever version it is read in.
type Key struct {
	Group, Kind, Namespace, Name string
}

// String is "Kind.group namespace/name".
func (k Key) String() string {
	kind := k.Kind
	if k.Group != "" {
		kind += "." + k.Group
	}
	if k.Namespace != "" {
		return kind + " " + k.Namespace + "/" + k.Name
	}
	return kind + " " + k.Name
}

// Snapshot is every object of an API server, with its UID.
type Snapshot map[Key]types.UID

// Without are the objects that the other snapshot does not have, in order.
func (s Snapshot) Without(other Snapshot) []Key {
	var keys []Key
	for key := range s {
		if _, ok := other[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// Lines are keys, one a line.
func Lines(keys []Key) string {
	var out strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&out, "  %s\n", key)
	}
	return out.String()
}

// listsAtOnce bounds the lists that a snapshot asks for at the same time.
const listsAtOnce = 8

// Snapshot lists all that the API server has, of all kinds that can be listed and in all namespaces. Two kinds are left
// out: Events, which come and go by themselves, and ComponentStatuses, which are stored nowhere.
func (c *Cluster) Snapshot(ctx context.Context) (Snapshot, error) {
	kinds, err := c.listable()
	if err != nil {
		return nil, err
	}
	cfg := rest.CopyConfig(c.Config)
	cfg.WarningHandler = rest.NoWarnings{} // all kinds are listed, those among them that will go one day
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("clients of %s: %w", c.Name, err)
	}
	var mu sync.Mutex
	out := Snapshot{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	for resource, kind := range kinds {
		group.Go(func() error {
			list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				return nil // its definition went between the two requests, and all its objects with it
			}
			if err != nil {
				return fmt.Errorf("listing %s on %s: %w", resource.Resource, c.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, item := range list.Items {
				out[Key{Group: resource.Group, Kind: kind, Namespace: item.Namespace, Name: item.Name}] = item.UID
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// listable are the kinds of an API server, each in one version.
func (c *Cluster) listable() (map[schema.GroupVersionResource]string, error) {
	lists, err := c.Kube.Discovery().ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("kinds of %s: %w", c.Name, err)
	}
	kinds := map[schema.GroupVersionResource]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("kinds of %s: %w", c.Name, err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && resource.Kind != "Event" && resource.Kind != "ComponentStatus" {
				kinds[gv.WithResource(resource.Name)] = resource.Kind
			}
		}
	}
	return kinds, nil
}
