// Package shim stands between clients and one API server and does to their connections what networks, load balancers and
// operators do: it refuses, swallows, slows, cuts, moves the address, swaps the certificate.
//
// [TCP] passes bytes through: clients see the server's own certificate, and client certificates work. [TLS] ends the
// clients' TLS with an authority of its own and speaks TLS of its own to the server, so it can also read the requests:
// count them, and let single ones fail before or after the server acted on them. Clients need a bearer token there.
//
// [Proxy] is another thing: a forward proxy, through which clients reach names that resolve nowhere.
//
// All listen on the loopback address only. The package imports certs and count, nothing else of the module.
package shim
