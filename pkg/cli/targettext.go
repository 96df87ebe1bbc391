package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/rancher/fleet/pkg/explain/delivery"
	"github.com/rancher/fleet/pkg/target"
)

// shownFiles is how many files or fields a table names of each change.
const shownFiles = 8

func printChoices(out io.Writer, choices []delivery.Choice) error {
	if len(choices) == 0 {
		_, err := fmt.Fprintln(out, "There is no cluster that the bundle may choose.")
		return err
	}
	text := &explainText{out: out}
	for i, c := range choices {
		if i > 0 {
			text.line("")
		}
		verdict := "no"
		switch {
		case c.Targeted && c.Refusal == nil && c.DeploymentID != "":
			verdict = "yes"
		case c.Targeted:
			verdict = "stays as it is"
		}
		text.wrapped(fmt.Sprintf("%s/%s: %s: ", c.Workspace, c.Cluster, verdict), "  ", c.Reason)
		if c.Blocked != "" {
			text.wrapped("  but ", "    ", c.Blocked)
		}
		if len(c.Uses) > 0 {
			text.wrapped("  options: ", "    ", "those of the bundle, then of "+strings.Join(c.Uses, ", then of "))
		}
		if len(c.Groups) > 0 {
			text.wrapped("  groups: ", "    ", strings.Join(c.Groups, ", "))
		}
		text.entries("target", c.Entries)
		text.entries("restriction", c.Restrictions)
	}
	return text.err
}

func (t *explainText) entries(what string, entries []target.Entry) {
	for _, e := range entries {
		role := what
		switch {
		case e.DoNotDeploy:
			role = "exclusion"
		case e.Customizes:
			role = "customization"
		}
		sign := "-"
		if e.Matches {
			sign = "+"
		}
		t.wrapped(fmt.Sprintf("  %s %s %s: ", sign, role, e.Name), "      ", e.Why)
	}
}

// printChanges has what is created, changed and removed first, and a line with how many there are of each.
func printChanges(out io.Writer, changes []delivery.DeploymentChange) error {
	err := columns(out, func(table io.Writer) {
		fmt.Fprintln(table, "ACTION\tCLUSTER\tDEPLOYMENT IN\tWHAT AND WHY")
		for _, c := range changes {
			name := "-"
			if c.Cluster != "" {
				name = c.Workspace + "/" + c.Cluster
			}
			detail := wrap(orDash(changeText(c)), widthDetail)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Action, name, orDash(c.Namespace), detail[0])
			for _, line := range detail[1:] {
				fmt.Fprintf(table, "\t\t\t%s\n", line)
			}
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s\n", delivery.Count(changes))
	return err
}

func changeText(c delivery.DeploymentChange) string {
	var parts []string
	add := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+some(list))
		}
	}
	add("", c.Fields)
	add("files added: ", c.Added)
	add("files changed: ", c.Changed)
	add("files removed: ", c.Removed)
	add("copied: ", c.Copied)
	if c.Reason != "" {
		parts = append(parts, c.Reason)
	}
	return strings.Join(parts, "; ")
}

// some are the first of a list.
func some(list []string) string {
	if len(list) <= shownFiles {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:shownFiles], ", "), len(list)-shownFiles)
}
