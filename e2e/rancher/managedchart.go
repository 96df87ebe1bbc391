package rancher

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
)

// ManagedChart is a chart that Rancher delivers to one of its clusters.
type ManagedChart struct {
	Name, Workspace string
	// Target is the namespace on the cluster, Cluster the name of the Cluster.
	Target, Cluster string
	Values          map[string]any
	// Chart are the files of the chart, by their names in it.
	Chart map[string]string
}

// BundleName is the Bundle's.
func (m ManagedChart) BundleName() string { return "mcc-" + m.Name }

// Files are the files of the chart as Rancher puts them into a Bundle: compressed, in the order of their names.
func (m ManagedChart) Files() ([]map[string]string, error) {
	var files []map[string]string
	for _, name := range slices.Sorted(maps.Keys(m.Chart)) {
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		if _, err := writer.Write([]byte(m.Chart[name])); err != nil {
			return nil, err
		}
		if err := writer.Close(); err != nil {
			return nil, err
		}
		files = append(files, map[string]string{
			"name": name, "content": base64.StdEncoding.EncodeToString(packed.Bytes()), "encoding": "base64+gz",
		})
	}
	return files, nil
}

// WriteManagedChart makes the Bundle of a chart what Rancher wants it to be.
func (c *Client) WriteManagedChart(ctx context.Context, m ManagedChart) error {
	bundle, err := read("managedchart.yaml", m)
	if err != nil {
		return err
	}
	if err := c.apply.WithContext(ctx).WithSetID("mcc-bundle").ApplyObjects(bundle); err != nil {
		return fmt.Errorf("Rancher writes Bundle %s: %w", m.BundleName(), err)
	}
	return nil
}

// DeleteBundle deletes a Bundle, and does not wait.
func (c *Client) DeleteBundle(ctx context.Context, workspace, name string) error {
	return c.hub.Dynamic.Resource(stage.Bundles).Namespace(workspace).Delete(ctx, name, metav1.DeleteOptions{})
}
