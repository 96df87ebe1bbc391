package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rancher/fleet/pkg/preflight"
)

const (
	// maxFound is how much of a finding is shown, in characters: all that preflight lets through.
	maxFound = 2048
	// foundWidth is how wide a finding is shown: with the columns before it a line has 120 characters at most.
	foundWidth = 84
	// remedyMark is before a remedy.
	remedyMark = "=> "
)

// printReport shows each remedy below what was found.
func printReport(out io.Writer, report preflight.Report) error {
	if report.Address != "" {
		if _, err := fmt.Fprintf(out, "%s for %s\n\n", report.Input, printable(report.Address, maxSentence)); err != nil {
			return err
		}
	}
	return columns(out, func(table io.Writer) {
		fmt.Fprintln(table, "CHECK\tRESULT\tFOUND")
		for _, check := range report.Checks {
			found := factLines(printable(check.Found, maxFound), foundWidth)
			fmt.Fprintf(table, "%s\t%s\t%s\n", check.Name, check.Result, found[0])
			for _, line := range found[1:] {
				fmt.Fprintf(table, "\t\t%s\n", line)
			}
			if check.Remedy == "" {
				continue
			}
			mark := remedyMark
			for _, line := range wrap(printable(check.Remedy, maxFound), foundWidth-len(remedyMark)) {
				fmt.Fprintf(table, "\t\t%s%s\n", mark, line)
				mark = strings.Repeat(" ", len(remedyMark))
			}
		}
	})
}

func failedText(failures, checks int) string {
	if checks == 1 {
		return "the check failed"
	}
	return fmt.Sprintf("%d of %d checks failed", failures, checks)
}

// factLines gives each fact of a finding lines of its own, unless all fit into one.
func factLines(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	for fact := range strings.SplitSeq(text, "; ") {
		lines = append(lines, wrap(fact, width)...)
	}
	return lines
}
