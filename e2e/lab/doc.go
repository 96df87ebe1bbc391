// Package lab runs real Kubernetes control planes on this machine, without a registry or a download site: etcd, API
// server and controller manager are built from their Go modules (e2e/kube) and started on the loopback address.
//
// With nodes (Options.Nodes, WithNodes) there are a scheduler, and for each node a containerd and a kubelet in namespaces
// and cgroups of their own (cmd/nodeinit): what they mount is not seen outside, and what they start ends with them. Their
// Pods have addresses of a bridge, the control plane's only trace outside of its processes and its folder.
//
// It is the machine behind scripts/lab, the demo and the suites. Linux only: it reads /proc and uses abstract sockets.
// Everything that a lab writes lies in its state directory, everything that it starts is known by process id.
//
// The package may import the other packages of the e2e module's ground floor (certs, count, proc), nothing of the product.
package lab
