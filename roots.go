package main

// The image has no file but the binary. Where the system has no root certificates, these hold, for agentTLSMode
// system-store and for chart repositories; where it has some, or SSL_CERT_FILE names some, they do nothing.
import _ "golang.org/x/crypto/x509roots/fallback"
