// Package bundledeployment says in the words of lists how a BundleDeployment is, where its agent did not, and takes away
// what belongs to one that is deleted: the Secret with its values, and what was copied for it.
//
// It is started by changes of BundleDeployments. It may import the pure packages, pkg/kube and the generated controllers.
package bundledeployment
