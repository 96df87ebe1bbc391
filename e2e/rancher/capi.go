package rancher

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/e2e/stage"
)

// Field managers of CAAPF.
const (
	addonManager = "addon-provider-fleet"
	configMap    = "fleet-controller"
)

// Addon is a cluster of Cluster API, of which CAAPF makes one of the hub.
type Addon struct {
	Name, Namespace string
	// Class is its ClusterClass, in namespace ClassNamespace.
	Class, ClassNamespace string
	// OwnerUID is the UID of the object that owns the Cluster.
	OwnerUID string
}

// WriteAddon applies the objects of a cluster with server-side apply. Nothing is forced: a field that belongs to another
// manager is an error.
func (c *Client) WriteAddon(ctx context.Context, a Addon) error {
	for _, one := range []struct {
		file      string
		resource  schema.GroupVersionResource
		namespace string
	}{
		{"capimapping.yaml", Mappings, a.ClassNamespace},
		{"capigroup.yaml", Groups, a.Namespace},
		{"capicluster.yaml", stage.Clusters, a.Namespace},
	} {
		object, err := read(one.file, a)
		if err != nil {
			return err
		}
		manager := metav1.ApplyOptions{FieldManager: "cluster-" + a.Name + "-" + addonManager}
		if _, err := c.hub.Dynamic.Resource(one.resource).Namespace(one.namespace).Apply(ctx, object.GetName(), object, manager); err != nil {
			return fmt.Errorf("CAAPF applies %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// PatchConfig writes the hub's address into its configuration as CAAPF does: it reads the JSON, puts it together again, and
// applies the whole text.
func (c *Client) PatchConfig(ctx context.Context, url string, ca []byte) error {
	found, err := c.hub.Kube.CoreV1().ConfigMaps(stage.SystemNamespace).Get(ctx, configMap, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("ConfigMap %s: %w", configMap, err)
	}
	config := map[string]any{}
	if err := json.Unmarshal([]byte(found.Data["config"]), &config); err != nil {
		return fmt.Errorf("ConfigMap %s, key config: %w", configMap, err)
	}
	config["apiServerURL"], config["apiServerCA"] = url, ca // JSON has bytes in base64
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	patch := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": configMap, "namespace": stage.SystemNamespace},
		"data":     map[string]any{"config": string(text)},
	}}
	maps := c.hub.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(stage.SystemNamespace)
	if _, err := maps.Apply(ctx, configMap, patch, metav1.ApplyOptions{FieldManager: addonManager, Force: true}); err != nil {
		return fmt.Errorf("CAAPF patches ConfigMap %s: %w", configMap, err)
	}
	return nil
}
