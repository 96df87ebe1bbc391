// Package rancher plays Rancher before a hub: it writes the objects that Rancher's controllers, its user interface and the
// add-on provider of Cluster API (CAAPF) write, in their order and with their means, and reads what they read. Objects are in
// data, as YAML.
//
// It may import the stage and clients; it imports nothing of the product but its types.
package rancher
