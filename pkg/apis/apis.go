// Package apis is the root of the module that other programs import for Fleet's API types. The types are in
// fleet.cattle.io/v1alpha1; nothing below this package imports anything of the main module.
package apis
