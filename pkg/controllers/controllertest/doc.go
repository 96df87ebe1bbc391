// Package controllertest has controllers over memory for the tests of the packages beside it: what a handler writes can be
// read, counted and made to fail, and the cache can be left behind what the API server has. It is imported by tests only.
package controllertest
