package helmdeployer

import (
	"strconv"

	"github.com/rancher/fleet/pkg/names"
)

// Annotations of the chart in a release's record. By them an agent knows its own releases, and what was asked for them.
const (
	bundleIDAnnotation        = names.Prefix + "bundle-id"
	agentNamespaceAnnotation  = names.Prefix + "agent-namespace"
	accountAnnotation         = names.Prefix + "service-account"
	keepResourcesAnnotation   = names.Prefix + "keep-resources"
	deleteNamespaceAnnotation = names.Prefix + "delete-namespace"
	commitAnnotation          = names.Prefix + "commit"
	originAnnotation          = names.Prefix + "origin"
)

func (d *Deployer) annotations(job Job) map[string]string {
	all := map[string]string{
		bundleIDAnnotation:       job.Name,
		agentNamespaceAnnotation: d.cfg.Namespace,
		accountAnnotation:        job.Options.ServiceAccount,
		keepResourcesAnnotation:  strconv.FormatBool(job.Options.KeepResources),
		commitAnnotation:         job.Commit,
	}
	if job.Origin != "" {
		all[originAnnotation] = job.Origin
	}
	if job.Options.DeleteNamespace {
		all[deleteNamespaceAnnotation] = "true"
	}
	return all
}
