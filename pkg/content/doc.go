// Package content turns the resources of a bundle into the Content object that agents read, and back into files. The
// name of a Content is a digest of what it holds, so that whoever unpacks one can tell that it is whole.
//
// What is unpacked is untrusted: its size, the number of its files and their names are bounded before memory is taken.
//
// The package is pure. It may import the API types, apimachinery and the standard library.
package content
