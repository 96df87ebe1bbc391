// Package ready says when a pod of the agent may take over from the one before. It is ready once it has spoken to the hub
// with the stored credential, once the hub has definitely refused that, or where there is none. From then on it stays
// ready: what happens to the hub later makes no pod unready.
//
// Every pod finds that out by itself, also one that does not lead. It may import pkg/agent/register, pkg/agent/pace and
// the standard library.
package ready
