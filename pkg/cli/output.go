package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

const flagOutput = "output"

// Forms of the output.
const (
	formTable = "table"
	formJSON  = "json"
	formYAML  = "yaml"
)

var forms = []string{formTable, formJSON, formYAML}

func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: flagOutput, Aliases: []string{"o"}, Value: formTable, Usage: "table, json or yaml"}
}

// items is a list in JSON and YAML, for programs: the key items as in lists of Kubernetes, and in it what docs/cli.md says.
type items[T any] struct {
	Items []T `json:"items"`
}

func newItems[T any](list []T) items[T] {
	if list == nil {
		list = []T{}
	}
	return items[T]{Items: list}
}

// form is the output's, checked before anything is asked or done.
func form(c *cli.Context) (string, error) {
	switch f := c.String(flagOutput); f {
	case formTable, formJSON, formYAML:
		return f, nil
	case "":
		return formTable, nil
	default:
		return "", usagef("--%s is %.32q: it must be %s, %s or %s", flagOutput, f, formTable, formJSON, formYAML)
	}
}

// present writes a value in the form that was asked for; table writes it for people.
func present(c *cli.Context, value any, table func(io.Writer) error) error {
	f, err := form(c)
	if err != nil {
		return err
	}
	switch f {
	case formJSON:
		encoder := json.NewEncoder(c.App.Writer)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	case formYAML:
		text, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("writing yaml: %w", err)
		}
		_, err = c.App.Writer.Write(text)
		return err
	}
	return table(c.App.Writer)
}

// columns writes rows that are separated by tabs.
func columns(out io.Writer, rows func(io.Writer)) error {
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	rows(table)
	return table.Flush()
}

// nothing says that a list is empty, and where it looked.
func nothing(out io.Writer, what, namespace string) error {
	where := "on this hub"
	if namespace != metav1.NamespaceAll {
		where = "in workspace " + printable(namespace, maxName)
	}
	_, err := fmt.Fprintf(out, "There are no %s %s.\n", what, where)
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ago is how long something is past, as lists show it.
func ago(at *metav1.Time, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(at.Time))
}

// until is how long something has still to go, or that it is over.
func until(at *metav1.Time, now time.Time) string {
	switch {
	case at.IsZero():
		return "never"
	case !at.After(now):
		return "ended " + duration.HumanDuration(now.Sub(at.Time)) + " ago"
	}
	return "in " + ahead(at.Sub(now))
}

// ahead is a duration that has yet to pass: of a day, a second after its beginning is still a day.
func ahead(d time.Duration) string {
	switch {
	case d > 48*time.Hour:
		d = d.Round(time.Hour)
	case d > 2*time.Minute:
		d = d.Round(time.Minute)
	}
	return duration.HumanDuration(d)
}
