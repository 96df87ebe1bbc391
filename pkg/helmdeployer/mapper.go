package helmdeployer

import "k8s.io/apimachinery/pkg/api/meta"

// Mapper knows the kinds that the cluster serves. Others of the process share it: what is known of them is large.
func (d *Deployer) Mapper() (meta.RESTMapper, error) {
	self, err := d.self()
	if err != nil {
		return nil, err
	}
	return self.Getter().ToRESTMapper()
}
