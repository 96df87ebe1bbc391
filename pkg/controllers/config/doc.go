// Package config reads the hub's configuration from its ConfigMap: once when it registers, before anything else asks for
// it, and then at every change, of which it tells the subscribers. What a document means is decided in pkg/config.
//
// It is started by changes of ConfigMap fleet-controller in the system namespace. It may import the pure packages,
// pkg/kube and the generated controllers.
package config
