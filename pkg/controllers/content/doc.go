// Package content counts who needs a Content, and deletes one that nobody needs any more.
//
// It is started by changes of Contents and of the BundleDeployments that refer to them. It may import the pure packages,
// pkg/kube and the generated controllers.
package content
