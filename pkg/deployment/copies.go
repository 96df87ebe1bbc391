package deployment

import (
	"strings"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// CopyLabel marks, with the value "true", what was copied into a cluster's namespace for its agent to take. It belongs to
// all deployments there that name it.
const CopyLabel = names.Prefix + "downstream-copy"

// Kinds of what can be copied, in lower case.
const (
	SecretKind    = "secret"
	ConfigMapKind = "configmap"
)

// Copy names an object that is copied. Its kind is in lower case.
type Copy struct{ Kind, Name string }

// CopyOf is the copy that an entry of downstreamResources names.
func CopyOf(r fleet.DownstreamResource) Copy {
	return Copy{Kind: strings.ToLower(r.Kind), Name: r.Name}
}

// Copies are the objects that a deployment needs, for the version on the cluster and for the one that waits.
func Copies(bd *fleet.BundleDeployment) map[Copy]bool {
	needed := map[Copy]bool{}
	for _, list := range [][]fleet.DownstreamResource{bd.Spec.Options.DownstreamResources, bd.Spec.StagedOptions.DownstreamResources} {
		for _, r := range list {
			needed[CopyOf(r)] = true
		}
	}
	return needed
}
