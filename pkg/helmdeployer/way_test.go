package helmdeployer

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// CVE-2026-44938: what pods may do in a namespace is not for a bundle to say, whether somebody has said it or not.
func TestABundleSaysNothingOfPodSecurity(t *testing.T) {
	const enforce = "pod-security.kubernetes.io/enforce"
	for name, test := range map[string]struct{ live, want map[string]string }{
		"nobody has said it": {
			map[string]string{"kubernetes.io/metadata.name": "app", "old": "gone"},
			map[string]string{"kubernetes.io/metadata.name": "app", "team": "a"},
		},
		"somebody has": {
			map[string]string{"kubernetes.io/metadata.name": "app", enforce: "restricted"},
			map[string]string{"kubernetes.io/metadata.name": "app", enforce: "restricted", "team": "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := namespaceLabels(test.live, map[string]string{"team": "a", enforce: "privileged", "pod-security.kubernetes.io/warn": "privileged"})
			assert.Equal(t, test.want, got)
		})
	}
}
