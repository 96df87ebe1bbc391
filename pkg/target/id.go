package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// DeploymentID names a version: the content, and a digest of the options. Those that only tell the agent how to compare
// and to correct are left out, so that a change of them deploys nothing anew. It is the same, byte by byte, as what other
// releases made of the same options; otherwise an upgrade would deploy every bundle again.
func DeploymentID(manifestID string, options fleet.BundleDeploymentOptions) (string, error) {
	options.Diff = nil
	options.CorrectDrift = nil
	digest := sha256.New()
	// The encoder escapes what HTML would read, and ends with a newline; both are part of the digest.
	if err := json.NewEncoder(digest).Encode(&options); err != nil {
		return "", fmt.Errorf("encoding the options: %w", err)
	}
	return manifestID + ":" + hex.EncodeToString(digest.Sum(nil)), nil
}
