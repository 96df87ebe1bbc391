package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	// completeTimeout is how long somebody who has pressed a key waits for names from the hub.
	completeTimeout = 2 * time.Second
	// maxCandidates is how many names are looked at.
	maxCandidates = 200
)

// completeCommand is what the scripts of `fleet completion` call: it prints what may stand for the last word, one a line.
// It never fails and says nothing where it does not know.
func completeCommand() *cli.Command {
	return &cli.Command{
		Name: "__complete", Hidden: true, SkipFlagParsing: true, HideHelp: true,
		ArgsUsage: "-- WORD...",
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if len(words) > 0 && words[0] == "--" {
				words = words[1:]
			}
			ctx, cancel := context.WithTimeout(c.Context, completeTimeout)
			defer cancel()
			for _, candidate := range complete(ctx, c.App.Commands, words) {
				fmt.Fprintln(c.App.Writer, candidate)
			}
			return nil
		},
	}
}

// complete finds what may stand for the last of the words.
func complete(ctx context.Context, commands []*cli.Command, words []string) []string {
	if words = unbroken(words); len(words) == 0 {
		return nil
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	verb, name, depth := verbIn(commands, append([]string{"fleet"}, before...))
	if verb == nil {
		return matching(subcommands(commands, before), last)
	}
	before = before[depth-1:]
	typed := typedFlags(verb, before)
	switch flag := openFlag(verb, before); {
	case flag != "":
		return matching(values(ctx, flag, typed), last)
	case slices.Contains(before, "--"):
	case strings.HasPrefix(last, "-"):
		flag, value, both := strings.Cut(last, "=")
		if both {
			return prefixed(flag+"=", matching(values(ctx, strings.TrimLeft(flag, "-"), typed), value))
		}
		return matching(flagNames(verb), last)
	}
	if workspace, rest, both := strings.Cut(last, "/"); both && flagNamed(verb, flagNamespace) != nil && typed[flagNamespace] == "" && len(validation.IsDNS1123Label(workspace)) == 0 {
		typed[flagNamespace] = workspace
		return prefixed(workspace+"/", matching(arguments(ctx, name, typed), rest))
	}
	return matching(arguments(ctx, name, typed), last)
}

// unbroken takes out what bash breaks --flag=value at: it hands over three words, and completes the last alone.
func unbroken(words []string) []string {
	var out []string
	for i, word := range words {
		switch {
		case word != "=" || i == 0 || !strings.HasPrefix(words[i-1], "--"):
			out = append(out, word)
		case i == len(words)-1:
			out = append(out, "")
		}
	}
	return out
}

// subcommands are the commands that may follow those that were typed.
func subcommands(commands []*cli.Command, typed []string) []string {
	for _, word := range typed {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(word) })
		if at < 0 {
			return nil
		}
		commands = commands[at].Subcommands
	}
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// openFlag is the flag whose value is typed next, empty where there is none.
func openFlag(verb *cli.Command, before []string) string {
	for i := 0; i < len(before) && before[i] != "--"; i++ {
		if strings.HasPrefix(before[i], "-") && takesNext(verb, before[i]) {
			if i == len(before)-1 {
				return flagNamed(verb, strings.TrimLeft(before[i], "-")).Names()[0]
			}
			i++
		}
	}
	return ""
}

// typedFlags are the values of flags that were typed, by the flag's first name.
func typedFlags(verb *cli.Command, before []string) map[string]string {
	typed := map[string]string{}
	for i := 0; i < len(before) && before[i] != "--"; i++ {
		if !strings.HasPrefix(before[i], "-") {
			continue
		}
		name, value, both := strings.Cut(strings.TrimLeft(before[i], "-"), "=")
		flag := flagNamed(verb, name)
		if flag == nil {
			continue
		}
		if !both && takesNext(verb, before[i]) && i+1 < len(before) {
			i++
			value = before[i]
		}
		typed[flag.Names()[0]] = value
	}
	return typed
}

func flagNames(verb *cli.Command) []string {
	var names []string
	for _, flag := range append(slices.Clone(verb.Flags), cli.HelpFlag) {
		for _, name := range flag.Names() {
			if len(name) > 1 {
				names = append(names, "--"+name)
			}
		}
	}
	return names
}

// values are what a flag may have.
func values(ctx context.Context, flag string, typed map[string]string) []string {
	switch flag {
	case flagOutput, "o":
		return forms
	case flagContext:
		return kube.UserContexts(typed[flagKubeconfig])
	case flagNamespace, "n":
		return workspaces(ctx, typed)
	case flagCluster:
		return objectNames[fleet.Cluster](ctx, kindCluster, typed, func(*fleet.Cluster) bool { return true })
	}
	return nil
}

// arguments are the names that a verb takes.
func arguments(ctx context.Context, verb string, typed map[string]string) []string {
	switch verb {
	case "completion":
		return slices.Collect(maps.Keys(completionScripts))
	case "cluster explain", "cluster redeploy":
		return objectNames[fleet.Cluster](ctx, kindCluster, typed, func(*fleet.Cluster) bool { return true })
	case "cluster revoke":
		return objectNames[fleet.Cluster](ctx, kindCluster, typed, func(c *fleet.Cluster) bool { return !c.Spec.Revoked })
	case "cluster readmit":
		return objectNames[fleet.Cluster](ctx, kindCluster, typed, func(c *fleet.Cluster) bool { return c.Spec.Revoked })
	case "cluster approve":
		return objectNames[fleet.Cluster](ctx, kindCluster, typed, func(c *fleet.Cluster) bool {
			_, suspected := registration.CloneOf(c.Annotations)
			return suspected
		})
	case "bundle explain":
		return objectNames[fleet.Bundle](ctx, kindBundle, typed, func(*fleet.Bundle) bool { return true })
	case "token values", "token delete":
		return objectNames[fleet.ClusterRegistrationToken](ctx, kindToken, typed, func(*fleet.ClusterRegistrationToken) bool { return true })
	case "registration approve", "registration deny":
		return objectNames[fleet.ClusterRegistration](ctx, kindRequest, typed, func(r *fleet.ClusterRegistration) bool {
			return explain.NewRequest(r, nil, nil).Pending
		})
	}
	return nil
}

// objectNames asks the hub for one page of names. They come from whoever answers: what is no name is left out.
func objectNames[T any](ctx context.Context, what kind, typed map[string]string, wanted func(*T) bool) []string {
	h := completingHub(typed)
	if h == nil {
		return nil
	}
	namespace := typed[flagNamespace]
	if namespace == "" {
		namespace = h.usual(ctx)
	}
	list, err := h.resource(what).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: maxCandidates})
	if err != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		obj, err := convert[T](&list.Items[i])
		if name := list.Items[i].GetName(); err == nil && wanted(obj) && len(validation.IsDNS1123Subdomain(name)) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// workspaces are the namespaces in which there are clusters or tokens.
func workspaces(ctx context.Context, typed map[string]string) []string {
	h := completingHub(typed)
	if h == nil {
		return nil
	}
	var names []string
	for _, what := range []kind{kindCluster, kindToken} {
		list, err := h.resource(what).List(ctx, metav1.ListOptions{Limit: maxCandidates})
		if err != nil {
			continue
		}
		for i := range list.Items {
			if name := list.Items[i].GetNamespace(); len(validation.IsDNS1123Label(name)) == 0 {
				names = append(names, name)
			}
		}
	}
	return names
}

func completingHub(typed map[string]string) *hub {
	h, err := newHub(typed[flagKubeconfig], typed[flagContext])
	if err != nil {
		return nil
	}
	return h
}

// matching are the candidates that begin as the word does, in order and each once.
func matching(candidates []string, word string) []string {
	var found []string
	for _, c := range candidates {
		if strings.HasPrefix(c, word) {
			found = append(found, c)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func prefixed(prefix string, words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, prefix+w)
	}
	return out
}
