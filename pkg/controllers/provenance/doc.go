// Package provenance proves that the API server checks what a registration request says of its origin. Policy
// fleet-registration of the chart holds every request to the token of its sender; that it is there says nothing of whether
// it works. So the hub sends, without effect, a request that names a token which is not its sender's, as an account of its
// own that may ask and nothing else, and expects that policy's refusal.
//
// It is started at the hub's start, by every change of the policy and its binding, and by the clock. What it finds goes into
// condition ProvenanceEnforced of registration tokens and decides how far requests are trusted; both is done by the
// controllers of those, which it tells. It may import the pure packages and pkg/kube.
package provenance
