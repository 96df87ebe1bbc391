// Package node stands in for a node of a control plane: one loop does what a scheduler and a kubelet would do, as far as
// the product can tell. The control plane's own controller manager does the rest, so Deployments roll as they say.
//
//   - A Pod without a node gets this one, unless its node selector asks for something else.
//   - A Pod of an agent becomes a process of this machine: the product's binary with the container's arguments and
//     environment and a token of the Pod's service account. Its exec readiness probe decides when it is Ready. A process
//     that ends is started again, with a growing pause. A Pod that is deleted takes its process with it. The container's
//     ID names the process.
//   - Every other Pod is Running and Ready at once, and Succeeded at once where it is to run only once.
//
// Images are not pulled, other probes than the readiness probe are not run, volumes are not mounted: TMPDIR and HOME of a
// process are folders of its Pod. Two things can be made to fail: an image whose name contains Unpullable is never there,
// and a Pod with the annotation Hold does not get Ready.
//
// It imports the lab, e2e/proc and the Kubernetes client.
package node
