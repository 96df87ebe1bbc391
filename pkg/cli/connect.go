package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/version"
)

// Flags of the verbs that say which hub, and which workspace of it, a person means.
const (
	flagKubeconfig = "kubeconfig"
	flagContext    = "context"
	flagNamespace  = "namespace"
	flagAll        = "all-namespaces"
)

// hub is a hub that a person works with.
type hub struct {
	objects dynamic.Interface
	clients kubernetes.Interface
	// chosen is the namespace that the person has set in the context of the kubeconfig, empty where none is.
	chosen string
}

// contextFlags say which hub a person means.
func contextFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagKubeconfig, Usage: "kubeconfig of the hub; without it as kubectl finds it"},
		&cli.StringFlag{Name: flagContext, Usage: "context of the kubeconfig; without it the current one"},
	}
}

// listFlags are those of verbs that list: all workspaces, unless one is named.
func listFlags() []cli.Flag {
	return append(contextFlags(),
		&cli.StringFlag{Name: flagNamespace, Aliases: []string{"n"}, Usage: "workspace; without it all of them, or, where you may not list them all, the usual one"},
		&cli.BoolFlag{Name: flagAll, Aliases: []string{"A"}, Usage: "all workspaces, and nothing less"},
	)
}

// workspaceFlags are those of verbs that work in one workspace.
func workspaceFlags() []cli.Flag {
	return append(contextFlags(),
		&cli.StringFlag{Name: flagNamespace, Aliases: []string{"n"},
			Usage: "workspace; without it the namespace of the kubeconfig's context if that is a workspace, else " + names.DefaultWorkspace},
	)
}

// connect makes the clients. It asks the hub nothing.
func connect(c *cli.Context) (*hub, error) {
	return newHub(c.String(flagKubeconfig), c.String(flagContext))
}

func newHub(kubeconfig, context string) (*hub, error) {
	if known := kube.UserContexts(kubeconfig); context != "" && len(known) > 0 && !slices.Contains(known, context) {
		return nil, fmt.Errorf("--%s is %.64q: the kubeconfig has no such context, but %s", flagContext, context, printable(strings.Join(known, ", "), maxSentence))
	}
	cfg, err := kube.UserConfig(kubeconfig, context, "fleet/"+version.Version)
	if err != nil {
		return nil, err
	}
	h := &hub{chosen: kube.UserNamespace(kubeconfig, context)}
	if h.objects, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	if h.clients, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	return h, nil
}

// workspace is the one that a verb works in: what was typed, else the namespace of the kubeconfig's context if it is a
// workspace, else the usual one. Many contexts have a namespace that has nothing to do with this hub's clusters.
func (h *hub) workspace(c *cli.Context) string {
	if typed := c.String(flagNamespace); typed != "" {
		return typed
	}
	return h.usual(c.Context)
}

func (h *hub) usual(ctx context.Context) string {
	if h.chosen != "" && h.chosen != names.DefaultWorkspace && h.isWorkspace(ctx, h.chosen) {
		return h.chosen
	}
	return names.DefaultWorkspace
}

// isWorkspace says whether there is anything of registration in a namespace. Who may not look there is believed.
func (h *hub) isWorkspace(ctx context.Context, namespace string) bool {
	for _, what := range []kind{kindCluster, kindToken, kindRequest} {
		list, err := h.resource(what).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsForbidden(err) || err == nil && len(list.Items) > 0 {
			return true
		}
	}
	return false
}

func (h *hub) resource(what kind) dynamic.NamespaceableResourceInterface {
	return h.objects.Resource(fleet.SchemeGroupVersion.WithResource(what.resource))
}

// listed runs a list in the workspaces that a person means, and says in which: all of them unless one was typed. Who may
// not list them all, and did not insist, gets the usual one.
func (h *hub) listed(c *cli.Context, list func(namespace string) error) (string, error) {
	namespace := c.String(flagNamespace)
	if c.Bool(flagAll) {
		namespace = metav1.NamespaceAll
	}
	err := list(namespace)
	if namespace != metav1.NamespaceAll || c.Bool(flagAll) || !apierrors.IsForbidden(err) {
		return namespace, err
	}
	namespace = h.usual(c.Context)
	if alone := list(namespace); alone != nil {
		return namespace, alone
	}
	note(c, "You may not list all workspaces; this is %s.", namespace)
	return namespace, nil
}

// noteMissing tells who got an empty list that there is no namespace of the name. Who may not look is told nothing.
func (h *hub) noteMissing(c *cli.Context, namespace string) {
	if namespace == metav1.NamespaceAll {
		return
	}
	if _, err := h.clients.CoreV1().Namespaces().Get(c.Context, namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		note(c, "There is no namespace %s on this hub.", namespace)
	}
}

// note tells something beside the output.
func note(c *cli.Context, format string, args ...any) {
	fmt.Fprintln(c.App.ErrWriter, printable(fmt.Sprintf(format, args...), maxError))
}
