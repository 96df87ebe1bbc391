package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/explain/delivery"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/version"
)

const (
	flagInputFile   = "input-file"
	flagKubeVersion = "kube-version"

	// nobodysNamespace stands for the agent's namespace in releases that no agent is to take for its own.
	nobodysNamespace = "fleet-deploy-by-hand"
)

func deployCommand() *cli.Command {
	return &cli.Command{
		Name:  "deploy",
		Usage: "deploy what `fleet target` printed to the current cluster, as its agent would",
		Description: "Takes one BundleDeployment with its Content, and installs or upgrades its Helm release. --dry-run prints the\n" +
			"objects and asks no cluster; --diff tells what would be created, changed and removed there. Values of the\n" +
			"cluster's own ConfigMaps and Secrets (valuesFrom) are in neither.\n\n" +
			"   fleet deploy -i app.yaml --diff\n   fleet deploy -i app.yaml --dry-run --kube-version v1.34.0",
		Flags: append(debugFlags(),
			&cli.StringFlag{Name: flagKubeconfig, Usage: "kubeconfig of the cluster; without it as kubectl finds it"},
			&cli.StringFlag{Name: flagContext, Usage: "context of the kubeconfig; without it the current one"},
			&cli.StringFlag{Name: flagInputFile, Aliases: []string{"i"}, Usage: "file with the BundleDeployment and its Content; - for standard input"},
			&cli.StringFlag{Name: flagNamespace, Aliases: []string{"n"}, Usage: "namespace of the release, for a bundle that names none"},
			&cli.StringFlag{Name: flagAgentNamespace, Aliases: []string{"a"},
				Usage: "namespace of an agent, which takes the release for its own and removes it if the hub has no such BundleDeployment"},
			&cli.BoolFlag{Name: flagDryRun, Aliases: []string{"d"}, Usage: "print the objects, hooks included, and ask no cluster"},
			&cli.StringFlag{Name: flagKubeVersion, Usage: "version of Kubernetes that --dry-run renders for; without it the newest known"},
			&cli.BoolFlag{Name: flagDiff, Usage: "tell what would be created, changed and removed on the cluster, and change nothing"},
			outputFlag(),
		),
		Action: deploy,
	}
}

func deploy(c *cli.Context) error {
	if err := checkFlags(c); err != nil {
		return err
	}
	file := c.String(flagInputFile)
	switch {
	case file == "":
		return usagef("%s needs --%s FILE, or - for standard input", c.Command.HelpName, flagInputFile)
	case c.Bool(flagDryRun) && c.Bool(flagDiff):
		return usagef("--%s and --%s exclude each other", flagDryRun, flagDiff)
	}
	if c.String(flagKubeVersion) != "" && !c.Bool(flagDryRun) {
		note(c, "--%s is for --%s and changes nothing here: the cluster tells its own version.", flagKubeVersion, flagDryRun)
	}
	setDebug(c)
	job, err := readDeployFile(c, file)
	if err != nil {
		return err
	}
	if namespace := c.String(flagNamespace); namespace != "" {
		job.Options.DefaultNamespace = namespace
	}
	if account := job.Options.ServiceAccount; account != "" && c.String(flagAgentNamespace) == "" && !c.Bool(flagDryRun) {
		return usagef("the bundle is deployed by service account %.64q of the agent's namespace: name that with --%s", account, flagAgentNamespace)
	}
	if c.Bool(flagDryRun) {
		return renderOnly(c, job)
	}
	cfg, err := kube.UserConfig(c.String(flagKubeconfig), c.String(flagContext), "fleet/"+version.Version)
	if err != nil {
		return err
	}
	if c.Bool(flagDiff) {
		return diffRelease(c, cfg, job)
	}
	return deployTo(c, cfg, job)
}

// agentNamespace is whose the release is.
func agentNamespace(c *cli.Context) string {
	if namespace := c.String(flagAgentNamespace); namespace != "" {
		return namespace
	}
	return nobodysNamespace
}

func renderOnly(c *cli.Context, job helmdeployer.Job) error {
	objects, err := helmdeployer.Render(c.Context, helmdeployer.RenderInput{
		Job: job, AgentNamespace: agentNamespace(c), KubeVersion: c.String(flagKubeVersion),
	})
	if err != nil {
		return err
	}
	noteLeftOut(c, job)
	var list []any
	for _, obj := range objects {
		list = append(list, obj.Object)
	}
	return printObjects(c, list)
}

// noteLeftOut says what is not in a rendering without the cluster's own values.
func noteLeftOut(c *cli.Context, job helmdeployer.Job) {
	if job.Options.Helm != nil && len(job.Options.Helm.ValuesFrom) > 0 {
		note(c, "Values of the cluster's ConfigMaps and Secrets (helm.valuesFrom) are not in this.")
	}
	noteCopies(c, job)
}

// noteCopies says that what an agent would bring along from the hub is not brought.
func noteCopies(c *cli.Context, job helmdeployer.Job) {
	if n := len(job.Options.DownstreamResources); n > 0 {
		first := job.Options.DownstreamResources[0]
		note(c, "The Secrets and ConfigMaps of downstreamResources (%d, the first is %s %s) lie on the hub, and only an agent copies them to its cluster: they are not in this.",
			n, first.Kind, first.Name)
	}
}

// deployed is what `fleet deploy` tells of a release.
type deployed struct {
	Release   string   `json:"release"`
	Namespace string   `json:"namespace"`
	Objects   []string `json:"objects"`
}

func deployTo(c *cli.Context, cfg *rest.Config, job helmdeployer.Job) error {
	deployer, err := helmdeployer.New(helmdeployer.Config{REST: cfg, Namespace: agentNamespace(c)})
	if err != nil {
		return err
	}
	if err := checkOwner(c.Context, cfg, job, agentNamespace(c)); err != nil {
		return err
	}
	noteCopies(c, job)
	release, err := deployer.Deploy(c.Context, job)
	if err != nil {
		return fmt.Errorf("deploying %s: %w", job.Name, err)
	}
	told := deployed{Release: release.ID, Namespace: release.Namespace, Objects: []string{}}
	for _, obj := range release.Objects {
		told.Objects = append(told.Objects, objectText(obj))
	}
	if told, err = forEyes(told); err != nil {
		return err
	}
	return present(c, told, func(out io.Writer) error {
		for _, obj := range told.Objects {
			fmt.Fprintln(out, obj)
		}
		_, err := fmt.Fprintf(out, "Deployed %s: release %s, objects: %d.\n", job.Name, told.Release, len(told.Objects))
		return err
	})
}

func objectText(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return obj.GetKind() + " " + obj.GetName()
	}
	return obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
}

func printObjectChanges(out io.Writer, changes []delivery.ObjectChange) error {
	counts := map[delivery.Action]int{}
	err := columns(out, func(table io.Writer) {
		fmt.Fprintln(table, "ACTION\tOBJECT\tFIELDS")
		for _, change := range changes {
			counts[change.Action]++
			name := change.Name
			if change.Namespace != "" {
				name = change.Namespace + "/" + name
			}
			fmt.Fprintf(table, "%s\t%s %s\t%s\n", change.Action, change.Kind, name, orDash(some(change.Fields)))
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\ncreate %d, take over %d, change %d, remove %d; keep %d, run %d, same %d\n", counts[delivery.Create],
		counts[delivery.TakeOver], counts[delivery.Change], counts[delivery.Remove], counts[delivery.Keep], counts[delivery.Run], counts[delivery.Same])
	return err
}
