// Package apitest is a small API server in memory for the agent's tests, behind real TLS: any resource by its path,
// resource versions, preconditions, watches by name, and a place to refuse, break or observe each call. It knows no
// schema and no defaults; what real servers do beyond that is tested in the lab.
package apitest
