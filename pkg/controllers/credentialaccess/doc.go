// Package credentialaccess lets import accounts read the credentials that wait for them, by name and no others: a Role of
// each import account lists the Secrets `c-…` that lie ready for requests made with its token, and shrinks when an agent
// has taken one. One Role for all that wait, bound once, costs a join two writes instead of four, and many joins at once
// share them; an authorizer that looks through the bindings of the registration namespace finds one for each token.
//
// It is started by changes of those Secrets, of import accounts and of what it makes itself. A Role is derived from the
// Secrets that exist, so that none is readable before it is there. It may import the pure packages, pkg/kube and the
// generated controllers.
package credentialaccess
