package stage

import (
	"context"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/node"
)

// RunPods gives a cluster a stand-in for a node, until the stage ends its processes: from then on the agents of the
// cluster's Deployments are processes of this machine, and other Pods are Running. StartAgent is not needed there.
func (s *Stage) RunPods(ctx context.Context, cluster *Cluster) (*node.Node, error) {
	front := cluster.front()
	n, err := node.Start(ctx, node.Config{
		REST: cluster.Config, Dir: cluster.Dir, Program: s.Binary(), Env: s.Env,
		Kubeconfig: func(ctx context.Context, namespace, account, path string) error {
			kubeconfig, err := lab.ServiceAccountKubeconfig(ctx, cluster.Config, namespace, account, accountLife, front.URL, front.CA)
			if err != nil {
				return err
			}
			return kubeconfig.Write(path)
		},
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes = append(s.nodes, n)
	return n, nil
}
