package helmdeployer

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// File is one file of a bundle, decoded, under its path in the bundle.
type File struct {
	Name string
	Data []byte
}

// Job is a bundle that is to be deployed.
type Job struct {
	// Name is the bundle's ID: the name of its BundleDeployment.
	Name string
	// ManifestID and Commit say which content this is. They make the version of a chart that has none.
	ManifestID, Commit string
	// Files are the bundle's resources.
	Files []File
	// Chart is how the chart's repository is reached, where the chart does not come with the files.
	Chart ChartAccess
	// Options are the bundle's, with the values of its Secret merged in.
	Options v1alpha1.BundleDeploymentOptions
	// Release is the ID of the release so far, as the status has it; empty if none is known.
	Release string
	// Agent says that this is the bundle of the agent itself: it adopts what the import applied, and is never uninstalled.
	Agent bool
}

// ChartAccess is how the repository of a chart is reached.
type ChartAccess struct {
	Username, Password string
	// CABundle holds certificates, in PEM, by which the repository is trusted besides the system's.
	CABundle []byte
	// InsecureSkipTLSVerify accepts any certificate, PlainHTTP speaks to an OCI registry without TLS.
	InsecureSkipTLSVerify, PlainHTTP bool
}

// Release is what was deployed. Its objects are as they were applied, in that order, with their namespaces filled in.
type Release struct {
	// ID is "<namespace>/<name>:<revision>".
	ID        string
	Namespace string
	Objects   []*unstructured.Unstructured
}

// Deployed is a release of this agent, as it is recorded on the cluster.
type Deployed struct {
	// BundleID is the name of the BundleDeployment that the release is of.
	BundleID string
	// Namespace and Name are those of the release.
	Namespace, Name string
	// Revision is its last one.
	Revision int
	// ServiceAccount is on whose behalf it was deployed; empty means the agent itself.
	ServiceAccount string
	// KeepResources says that its objects stay when the bundle goes.
	KeepResources bool
}
