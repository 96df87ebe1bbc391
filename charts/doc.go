// Package charts tests the Helm charts beside it: it renders and lints them with Helm's own code and checks what comes
// out. There is nothing to import here.
//
// The tests may import Helm, the types of Kubernetes and the pure packages whose documents the charts write.
package charts
