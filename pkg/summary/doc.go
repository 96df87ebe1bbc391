// Package summary tells how bundles are: the state of one deployment in a word and why, the counts over many, and the text
// of a Ready condition. Whatever agents report, and however many clusters there are, what comes out is bounded in size and
// printable.
//
// It is pure and may import the API types, apimachinery and other pure packages.
package summary
