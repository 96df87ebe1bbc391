// Package hubtest is a hub for the agent's tests: an apitest server that knows tokens, answers as the hub's RBAC would,
// and grants registration requests as the protocol says. Its switches make it slow, strict, forgetful or wrong.
package hubtest
