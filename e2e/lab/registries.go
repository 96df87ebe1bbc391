package lab

import (
	"fmt"
	"os"
	"path/filepath"
)

// PullPlainly lets all nodes pull images from a registry, host:port, without TLS. It counts from the next pull on.
func (c *ControlPlane) PullPlainly(registry string) error {
	content := fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", "http://"+registry, "http://"+registry)
	for _, name := range c.Nodes() {
		dir := filepath.Join(c.path(name), folderPull, registry)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("registry %s for %s: %w", registry, name, err)
		}
		if err := writeFile(filepath.Join(dir, "hosts.toml"), []byte(content)); err != nil {
			return fmt.Errorf("registry %s for %s: %w", registry, name, err)
		}
	}
	return nil
}
