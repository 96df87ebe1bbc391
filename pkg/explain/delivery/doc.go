// Package delivery tells people what a hub does with a bundle: which clusters get it and why, what would be created,
// changed and removed by another version of it, and how far each cluster is. docs/targets.md and docs/delivery.md tell the
// same as a story; the verdicts are those of the packages that the hub's controllers use.
//
// The package is pure: what it is not given to read it calls unknown, and it tells no value of a Secret. It may import the
// API types, apimachinery, the other pure packages and the standard library.
package delivery
