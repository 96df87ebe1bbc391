package cli

import (
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/util/validation"
)

// object is what a person names on the command line.
type object struct{ workspace, name string }

// String is how lists and messages name it.
func (o object) String() string { return o.workspace + "/" + o.name }

// typedNames reads the arguments of a verb, each a name or workspace/name, before a hub is asked: what was mistyped costs
// nothing. The workspace of a bare name is empty; see hub.in.
func typedNames(c *cli.Context, least, most int, what string) ([]object, error) {
	if err := checkArguments(c, least, most, what); err != nil {
		return nil, err
	}
	var objects []object
	for _, word := range c.Args().Slice() {
		o, err := parseObject(word, c.String(flagNamespace))
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// checkArguments checks how many arguments there are, and the flags that verbs have in common.
func checkArguments(c *cli.Context, least, most int, what string) error {
	switch n := c.Args().Len(); {
	case n < least:
		return usagef("%s needs %s; see %s --help", c.Command.HelpName, what, c.Command.HelpName)
	case n > most:
		return usagef("%s takes %s, and %.64q is one too many", c.Command.HelpName, what, c.Args().Get(most))
	}
	return checkFlags(c)
}

// checkFlags checks the flags that verbs have in common.
func checkFlags(c *cli.Context) error {
	if _, err := form(c); err != nil {
		return err
	}
	if ns := c.String(flagNamespace); ns != "" && len(validation.IsDNS1123Label(ns)) > 0 {
		return usagef("-n %.64q is no name of a workspace", ns)
	}
	return nil
}

func parseObject(word, typed string) (object, error) {
	workspace, name, both := strings.Cut(word, "/")
	if !both {
		workspace, name = typed, word
	}
	if err := validName("the name", name); err != nil {
		return object{}, err
	}
	switch {
	case both && len(validation.IsDNS1123Label(workspace)) > 0:
		return object{}, usagef("%.64q is no name of a workspace", workspace)
	case typed != "" && typed != workspace:
		return object{}, usagef("%.128q is in another workspace than -n %.64s", word, typed)
	}
	return object{workspace, name}, nil
}

// in is an object in the workspace that was typed with it, or else the usual one.
func (h *hub) in(c *cli.Context, o object) object {
	if o.workspace == "" {
		o.workspace = h.workspace(c)
	}
	return o
}

func validName(what, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return usagef("%s %.64q cannot be: use lower-case letters, digits, dashes and dots, at most %d of them", what, name, validation.DNS1123SubdomainMaxLength)
	}
	return nil
}
