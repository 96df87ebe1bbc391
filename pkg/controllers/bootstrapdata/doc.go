// Package bootstrapdata keeps what every registration rests on: the hub's namespaces, and the ClusterRoles that are bound
// for each cluster. They are made by the hub and not by its chart, and repaired when somebody edits or deletes them.
//
// It is started by the hub's start and by changes of these very objects. It may import the pure packages, pkg/kube,
// pkg/desired and the generated controllers.
package bootstrapdata
