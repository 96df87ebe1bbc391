package stage

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/names"
)

// Configure changes the configuration of the hub that runs, as a person with kubectl does.
func (s *Stage) Configure(ctx context.Context, change func(config map[string]any)) error {
	maps := s.Hub.Kube.CoreV1().ConfigMaps(SystemNamespace)
	cm, err := maps.Get(ctx, names.ControllerConfigMap, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("the hub's configuration: %w", err)
	}
	config := map[string]any{}
	if err := yaml.Unmarshal([]byte(cm.Data[names.ConfigKey]), &config); err != nil {
		return fmt.Errorf("the hub's configuration: %w", err)
	}
	change(config)
	document, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("the hub's configuration: %w", err)
	}
	cm.Data[names.ConfigKey] = string(document)
	if _, err := maps.Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("the hub's configuration: %w", err)
	}
	return nil
}
