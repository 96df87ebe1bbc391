// Package target decides which clusters a bundle goes to, with which options, in which order, and what of it is no
// longer wanted: matching, customization, values, the identifier of a version, rollout, and the proof without which
// nothing is removed.
//
// One cluster's trouble is its own. A cluster whose options cannot be made is a Refusal: what it runs stays as it is,
// and all others go on.
//
// The package is pure. It may import the API types, apimachinery, the template functions of sprig and the standard
// library. What it is given, it never changes.
package target
