package names

import (
	"regexp"
	"strings"
)

const (
	// maxRelease is Helm's limit for the name of a release.
	maxRelease = 53
	// limitHash is how many hex digits stand for what Limit cuts off.
	limitHash = 5
)

var (
	foreignRun = regexp.MustCompile(`[^a-z0-9-]+`)
	plainName  = regexp.MustCompile(`^[a-z0-9-]*$`)
	dashes     = regexp.MustCompile(`-+`)
)

// Limit shortens s to n bytes by a hash where it is longer. It differs from wrangler's function of this name, which also
// shortens what is exactly n long.
func Limit(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n <= limitHash+1 {
		return s[:max(n, 0)]
	}
	kept := s[:n-limitHash-1]
	if !strings.HasSuffix(kept, "-") {
		kept += "-"
	}
	return kept + Hex(s, limitHash)
}

// HelmReleaseName makes the name of a Helm release of any text. A hash stands for characters that had to be changed or cut
// off; slashes, and dashes in a row or at an end, are folded without one.
func HelmReleaseName(s string) string {
	release := strings.ReplaceAll(s, "/", "-")
	if !plainName.MatchString(release) {
		release += "-" + Hex(release, 8)
	}
	release = foreignRun.ReplaceAllString(strings.ToLower(release), "-")
	release = strings.Trim(dashes.ReplaceAllString(release, "-"), "-")
	if release == "" {
		return Hex(s, 24)
	}
	return Limit(release, maxRelease)
}
