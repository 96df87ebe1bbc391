package agentmanifest

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheImageComesFromTheClustersRegistry(t *testing.T) {
	for name, c := range map[string]struct{ global, prefix, image, want string }{
		"neither":                     {"", "", "rancher/fleet-agent:v1", "rancher/fleet-agent:v1"},
		"only global leaves it":       {"global.io/", "", "global.io/rancher/fleet-agent:v1", "global.io/rancher/fleet-agent:v1"},
		"prefix is joined":            {"", "private.io", "rancher/fleet-agent:v1", "private.io/rancher/fleet-agent:v1"},
		"prefix replaces global":      {"global.io/", "private.io", "global.io/rancher/fleet-agent:v1", "private.io/rancher/fleet-agent:v1"},
		"global without slash":        {"global.io", "private.io/", "global.io/rancher/fleet-agent:v1", "private.io/rancher/fleet-agent:v1"},
		"prefix is already there":     {"global.io/", "private.io", "private.io/rancher/fleet-agent:v1", "private.io/rancher/fleet-agent:v1"},
		"prefix with port and path":   {"", "private.io:5000/a//b/", "rancher/fleet-agent:v1", "private.io:5000/a/b/rancher/fleet-agent:v1"},
		"prefix equals global":        {"reg.io/", "reg.io", "reg.io/rancher/fleet-agent:v1", "reg.io/rancher/fleet-agent:v1"},
		"longer host is another host": {"", "reg.io", "reg.io.example.com/agent:v1", "reg.io/reg.io.example.com/agent:v1"},
		"longer global is another":    {"global.io", "private.io", "global.io.example.com/agent:v1", "private.io/global.io.example.com/agent:v1"},
		"scheme is no part of it":     {"", "https://private.io/", "rancher/fleet-agent:v1", "private.io/rancher/fleet-agent:v1"},
		"digest stays":                {"", "private.io", "rancher/fleet-agent@sha256:00", "private.io/rancher/fleet-agent@sha256:00"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, ResolveImage(c.global, c.prefix, c.image))
		})
	}
}

func FuzzResolveImage(f *testing.F) {
	f.Add("global.io/", "private.io", "global.io/rancher/fleet-agent:v1")
	f.Add("", "https://private.io//", "/a")
	f.Add("//", "/", "")
	f.Add("\xff", "\u202e", "a\nb")
	f.Add("https://u:p@global.io", "ftp://private.io:99999/a?b#c", "@sha256:00")
	f.Add("global.io/../x", "a/./b", "global.io/../x/agent")
	f.Fuzz(func(t *testing.T, global, prefix, image string) {
		got := ResolveImage(global, prefix, image)
		if registry(prefix) == "" && got != image {
			t.Errorf("without a prefix %q became %q", image, got)
		}
		p := registry(prefix)
		odd := p == "" || strings.HasPrefix(p, ".") || path.Clean(p) != p || strings.Contains(image, "..")
		if !odd && !strings.HasPrefix(got, p) {
			t.Errorf("%q does not begin with the prefix %q", got, p)
		}
	})
}
