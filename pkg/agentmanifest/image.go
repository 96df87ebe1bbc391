package agentmanifest

import (
	"path"
	"strings"
)

// ResolveImage says which image an agent runs. prefix is the private registry of one cluster; global is the registry
// that the hub's configuration may already have put in front of the image, and that prefix then replaces.
func ResolveImage(global, prefix, image string) string {
	global, prefix = registry(global), registry(prefix)
	if prefix == "" {
		return image
	}
	if global != "" {
		if rest, ok := strings.CutPrefix(image, global+"/"); ok {
			image = rest
		}
	}
	if strings.HasPrefix(image, prefix+"/") {
		return image
	}
	return path.Join(prefix, image)
}

// registry cuts what people write around a registry but no image reference may contain: a scheme, a slash at the end.
func registry(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimPrefix(s, "https://")
	s = strings.TrimPrefix(s, "http://")
	return strings.TrimRight(s, "/")
}
