// Package clusterregistrationtoken turns a ClusterRegistrationToken into something that an agent can register with: an
// import account, the few permissions that it needs, and a Secret of the token's name with the values for the agent's
// chart. At the end of the token's life it takes all of that away.
//
// It is started by changes of tokens, of what belongs to them (found by an index, not by labels that somebody may have
// taken off) and of the hub's configuration, and by a timer at the end of a token's life. It may import the pure
// packages, pkg/kube, pkg/desired and the generated controllers.
package clusterregistrationtoken
