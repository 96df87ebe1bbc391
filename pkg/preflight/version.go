package preflight

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// Kubernetes minor versions, of major version 1: the oldest that the charts install on, and those that the tests run on.
const (
	oldestMinor = 30
	testedFrom  = 36
	testedTo    = 37
)

func decideVersion(body []byte) finding {
	info, ok := versionIn(body)
	if !ok {
		return skip("the server did not say its version")
	}
	shown := info.GitVersion
	if shown == "" {
		shown = "v" + info.Major + "." + info.Minor
	}
	shown = "Kubernetes " + printable(shown, 64)
	minor, ok := minorOf(info)
	upgrade := fmt.Sprintf("Upgrade the cluster to Kubernetes 1.%d or newer.", oldestMinor)
	switch {
	case !ok:
		return doubt(shown+" cannot be compared", upgrade)
	case minor < oldestMinor:
		return failure(fmt.Sprintf("%s, older than 1.%d", shown, oldestMinor), upgrade)
	case minor > testedTo:
		return doubt(fmt.Sprintf("%s, newer than what was tested (1.%d to 1.%d)", shown, testedFrom, testedTo), "Look whether a newer version of Fleet knows it.")
	}
	return fine(shown)
}

// minorOf reads a minor version, of which some distributions write "27+".
func minorOf(info version.Info) (int, bool) {
	minor, err := strconv.Atoi(strings.TrimRight(info.Minor, "+"))
	return minor, err == nil && info.Major == "1"
}
