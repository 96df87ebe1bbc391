package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain/delivery"
)

const (
	flagBundleFile = "bundle-file"
	flagDumpInput  = "dump-input-list"
	flagExplain    = "explain"
	flagDiff       = "diff"
	flagCluster    = "cluster"
)

func targetCommand() *cli.Command {
	return &cli.Command{
		Name:  "target",
		Usage: "tell what a bundle in a file would come to on the hub's clusters; nothing is written",
		Description: "Prints the Content of the bundle and the BundleDeployment of each cluster that it targets, complete with\n" +
			"Helm values, as the hub would make them: `fleet deploy` takes one of them. With --explain it tells of every\n" +
			"cluster why it gets the bundle or not, with --diff what storing the bundle would create, change and remove.\n" +
			"Those two tell no values.\n\n" +
			"   fleet target -b bundle.yaml --diff\n   fleet target -b bundle.yaml --cluster edge-1 | fleet deploy -i - --dry-run",
		Flags: append(append(workspaceFlags(), debugFlags()...), outputFlag(),
			&cli.StringFlag{Name: flagBundleFile, Aliases: []string{"b"}, Usage: "file with one Bundle; - for standard input"},
			&cli.BoolFlag{Name: flagDumpInput, Aliases: []string{"l"}, Usage: "print what targeting rests on instead: clusters, groups, mappings, without values"},
			&cli.StringFlag{Name: flagCluster, Usage: "only this cluster, NAME or WORKSPACE/NAME"},
			&cli.BoolFlag{Name: flagExplain, Usage: "tell of every cluster why it gets the bundle, or why not"},
			&cli.BoolFlag{Name: flagDiff, Usage: "tell what would be created, changed and removed on the hub, and why"},
		),
		Action: targetBundle,
	}
}

func targetBundle(c *cli.Context) error {
	setDebug(c)
	only, err := checkTarget(c)
	if err != nil {
		return err
	}
	bundle, err := readBundleFile(c)
	if err != nil {
		return err
	}
	h, err := connect(c)
	if err != nil {
		return err
	}
	if bundle.Namespace == "" {
		bundle.Namespace = h.workspace(c)
	}
	facts, err := readBundle(c.Context, h, bundle)
	if err != nil {
		return err
	}
	if c.Bool(flagDiff) {
		readContents(c.Context, h, &facts)
		if err := readSources(c.Context, h, &facts); err != nil {
			return err
		}
	}
	for _, unknown := range facts.Unknown {
		note(c, "What is told is not complete: %s", unknown)
	}
	look := delivery.At(facts)
	switch {
	case c.Bool(flagDumpInput):
		return printObjects(c, inputObjects(facts))
	case c.Bool(flagExplain):
		return explainTargets(c, look, only)
	case c.Bool(flagDiff):
		return diffTargets(c, look, only)
	}
	return printDeployments(c, look, only)
}

// checkTarget checks what was typed, and returns the cluster that was.
func checkTarget(c *cli.Context) (only object, err error) {
	if err := checkFlags(c); err != nil {
		return only, err
	}
	modes := slices.DeleteFunc([]string{flagDumpInput, flagExplain, flagDiff}, func(name string) bool { return !c.Bool(name) })
	if len(modes) > 1 {
		return only, usagef("--%s and --%s exclude each other", modes[0], modes[1])
	}
	if c.String(flagBundleFile) == "" {
		return only, usagef("%s needs --%s FILE, or - for standard input", c.Command.HelpName, flagBundleFile)
	}
	if word := c.String(flagCluster); word != "" {
		return parseObject(word, "")
	}
	return only, nil
}

// means says whether a cluster is the one that was typed, or none was.
func (o object) means(workspace, name string) bool {
	return o.name == "" || o.name == name && (o.workspace == "" || o.workspace == workspace)
}

func printDeployments(c *cli.Context, look delivery.Look, only object) error {
	if look.Problem != nil {
		return look.Problem
	}
	made, missing := look.Deployments(only.means)
	var objects []any
	if content := look.Content.Object(); content != nil && len(made) > 0 {
		objects = append(objects, content)
	}
	for _, bd := range made {
		bd.APIVersion, bd.Kind = fleet.SchemeGroupVersion.String(), "BundleDeployment"
		objects = append(objects, bd)
	}
	if err := printObjects(c, objects); err != nil {
		return err
	}
	for _, err := range missing {
		note(c, "Not made: %v", err)
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("clusters that cannot be served: %d", len(missing))
	case len(made) == 0:
		note(c, "The bundle targets no cluster; --%s tells why.", flagExplain)
	}
	return nil
}

// printObjects writes objects for programs: documents of YAML, or a list in JSON.
func printObjects(c *cli.Context, objects []any) error {
	if f, _ := form(c); f == formJSON {
		return present(c, newItems(objects), nil)
	}
	for _, obj := range objects {
		text, err := yaml.Marshal(obj)
		if err != nil {
			return fmt.Errorf("writing yaml: %w", err)
		}
		if _, err := fmt.Fprintf(c.App.Writer, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// inputObjects is what targeting rests on. The values of a Secret are not among it.
func inputObjects(facts delivery.Facts) []any {
	var objects []any
	for _, cluster := range facts.Clusters {
		cluster.ManagedFields = nil
		cluster.APIVersion, cluster.Kind = fleet.SchemeGroupVersion.String(), "Cluster"
		objects = append(objects, cluster)
	}
	for _, group := range facts.Groups {
		group.ManagedFields = nil
		group.APIVersion, group.Kind = fleet.SchemeGroupVersion.String(), "ClusterGroup"
		objects = append(objects, group)
	}
	for _, restriction := range facts.Restrictions {
		restriction.ManagedFields = nil
		restriction.APIVersion, restriction.Kind = fleet.SchemeGroupVersion.String(), "GitRepoRestriction"
		objects = append(objects, restriction)
	}
	return objects
}

func explainTargets(c *cli.Context, look delivery.Look, only object) error {
	choices := slices.DeleteFunc(look.Choices(), func(choice delivery.Choice) bool { return !only.means(choice.Workspace, choice.Cluster) })
	if only.name != "" && len(choices) == 0 {
		return fmt.Errorf("there is no cluster %s among those that the bundle may choose", c.String(flagCluster))
	}
	choices, err := forEyes(choices)
	if err != nil {
		return err
	}
	return present(c, newItems(choices), func(out io.Writer) error { return printChoices(out, choices) })
}

func diffTargets(c *cli.Context, look delivery.Look, only object) error {
	changes := slices.DeleteFunc(look.Changes(), func(change delivery.DeploymentChange) bool { return !only.means(change.Workspace, change.Cluster) })
	changes, err := forEyes(changes)
	if err != nil {
		return err
	}
	if look.Problem != nil {
		note(c, "Nothing changes until this is mended: %v", look.Problem)
	}
	return present(c, newItems(changes), func(out io.Writer) error { return printChanges(out, changes) })
}
