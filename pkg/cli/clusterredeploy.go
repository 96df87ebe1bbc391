package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

const flagEvery = "all"

func redeployCommand() *cli.Command {
	return &cli.Command{
		Name:      "redeploy",
		Usage:     "have the agents of clusters deployed anew",
		ArgsUsage: "NAME...",
		Description: "Raises spec.redeployAgentGeneration of each Cluster. The hub puts the agent of a cluster that it imports there\n" +
			"once more, at once, over the one that runs; its pod is replaced. The agent of a cluster that joined by itself is\n" +
			"replaced by its bundle.\n\n" +
			"   fleet cluster redeploy edge-1 edge-2\n   fleet cluster redeploy --all -n fleet-default",
		Flags: append(workspaceFlags(), outputFlag(),
			&cli.BoolFlag{Name: flagEvery, Usage: "all clusters of the workspace"},
			&cli.BoolFlag{Name: flagAll, Aliases: []string{"A"}, Usage: "with --all: those of every workspace"},
			&cli.BoolFlag{Name: flagDryRun, Usage: "say what would be done, and do nothing"}),
		Action: redeployClusters,
	}
}

// redeployed is what was done about one cluster. Its JSON is an interface: it is added to, and not changed.
type redeployed struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	// Generation is the new spec.redeployAgentGeneration, missing where it was not raised.
	Generation int64  `json:"generation,omitempty"`
	Result     string `json:"result"`
}

func redeployClusters(c *cli.Context) error {
	switch {
	case c.Bool(flagEvery) && c.Args().Present():
		return usagef("give names or --%s, not both", flagEvery)
	case !c.Bool(flagEvery) && c.Bool(flagAll):
		return usagef("-A goes with --%s", flagEvery)
	}
	least := 1
	if c.Bool(flagEvery) {
		least = 0
	}
	typed, err := typedNames(c, least, 1000, "the NAME of each cluster, or --"+flagEvery)
	if err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	clusters, failed, err := clustersMeant(c, h, typed)
	if err != nil {
		return err
	}
	var done []redeployed
	for _, cluster := range clusters {
		one, err := redeploy(c, h, cluster)
		if one.Result != "" {
			done = append(done, one)
		}
		failed = append(failed, err)
	}
	if err := present(c, newItems(done), func(out io.Writer) error { return printRedeployed(out, done) }); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// clustersMeant are those that were named, or all. A name that does not exist does not keep the others from being done.
func clustersMeant(c *cli.Context, h *hub, typed []object) (clusters []*fleet.Cluster, failed []error, err error) {
	if !c.Bool(flagEvery) {
		for _, o := range typed {
			cluster, err := find[fleet.Cluster](c.Context, h, kindCluster, h.in(c, o))
			if err != nil {
				failed = append(failed, err)
				continue
			}
			clusters = append(clusters, cluster)
		}
		return clusters, failed, nil
	}
	namespace := metav1.NamespaceAll
	if !c.Bool(flagAll) {
		namespace = h.workspace(c)
	}
	all, err := readAll[fleet.Cluster](c.Context, h, kindCluster, namespace)
	if err != nil {
		return nil, nil, fmt.Errorf("listing clusters: %w", err)
	}
	for i := range all {
		clusters = append(clusters, &all[i])
	}
	if len(clusters) == 0 {
		return nil, nil, errors.New("there are no clusters to redeploy; -n names another workspace, -A takes all")
	}
	return clusters, nil, nil
}

func redeploy(c *cli.Context, h *hub, cluster *fleet.Cluster) (redeployed, error) {
	one := redeployed{Workspace: cluster.Namespace, Name: cluster.Name}
	if why := notRedeployed(cluster); why != "" {
		if !c.Bool(flagEvery) {
			return redeployed{}, fmt.Errorf("cluster %s/%s is not redeployed: %s", cluster.Namespace, cluster.Name, why)
		}
		one.Result = "left alone: " + why
		return one, nil
	}
	one.Result = whatFollows(cluster)
	if c.Bool(flagDryRun) {
		one.Result = "would be: " + one.Result
		return one, nil
	}
	generation, err := raise(c.Context, h, cluster)
	if err != nil {
		return redeployed{}, err
	}
	one.Generation = generation
	return one, nil
}

// notRedeployed says why an order would be lost, empty where it would not.
func notRedeployed(c *fleet.Cluster) string {
	switch {
	case c.DeletionTimestamp != nil:
		return "it is being deleted"
	case registration.IsManagedElsewhere(c):
		return "another manager has it (label fleet.cattle.io/cluster-management)"
	case c.Spec.Revoked:
		return "it is revoked (spec.revoked)"
	}
	return ""
}

// whatFollows says what the hub does next.
func whatFollows(c *fleet.Cluster) string {
	if registration.JoinMethod(c) == registration.JoinedByAgent {
		return "its agent is replaced by its bundle"
	}
	return "the hub puts the agent there once more, and its pod is replaced"
}

// raise makes the generation one more than it is. Somebody else may do the same at the same time.
func raise(ctx context.Context, h *hub, cluster *fleet.Cluster) (int64, error) {
	name := object{cluster.Namespace, cluster.Name}
	var err error
	for range attempts {
		next := cluster.Spec.RedeployAgentGeneration + 1
		var patch []byte
		if patch, err = json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": cluster.ResourceVersion, "uid": cluster.UID},
			"spec":     map[string]any{"redeployAgentGeneration": next},
		}); err != nil {
			return 0, fmt.Errorf("cluster %s: %w", name, err)
		}
		_, err = h.resource(kindCluster).Namespace(cluster.Namespace).
			Patch(ctx, cluster.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err == nil {
			return next, nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
		uid := cluster.UID
		if cluster, err = find[fleet.Cluster](ctx, h, kindCluster, name); err != nil {
			return 0, err
		}
		if cluster.UID != uid {
			return 0, fmt.Errorf("cluster %s was deleted and made anew meanwhile: repeat the command if the new one is meant", name)
		}
	}
	return 0, fmt.Errorf("raising spec.redeployAgentGeneration of cluster %s: %w", name, err)
}

func printRedeployed(out io.Writer, done []redeployed) error {
	for _, r := range done {
		generation := ""
		if r.Generation != 0 {
			generation = fmt.Sprintf(" (generation %d)", r.Generation)
		}
		if _, err := fmt.Fprintf(out, "%s/%s%s: %s\n", r.Workspace, r.Name, generation, r.Result); err != nil {
			return err
		}
	}
	return nil
}
