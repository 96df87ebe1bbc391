package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// QuietMachine is how many cores may be busy with other things in figures that are to be trusted.
const QuietMachine = 0.1

// Head is what every report begins with.
type Head struct {
	Date    time.Time `json:"date"`
	Command string    `json:"command"`
	Machine Machine   `json:"machine"`
}

// Markdown is the head for people. others is how many cores were busy with other things at most.
func (h Head) Markdown(out io.Writer, title string, others float64) {
	m := h.Machine
	fmt.Fprintf(out, "## %s\n\n%s, commit %s, by `%s`.\n\n", title, h.Date.Format(time.DateOnly), m.Commit, h.Command)
	fmt.Fprintf(out, "%s, %d cores, %.0f GB; Linux %s, %s; %s; %s.\n\n", m.CPU, m.Cores, m.MemoryGB, m.Kernel, m.Go, m.Kubernetes, m.Product)
	fmt.Fprintln(out, "Figures are the median of the runs, in brackets the lowest and the highest. A verdict is on the median.")
	if others > QuietMachine {
		fmt.Fprintf(out, "\n**The machine was not idle: up to %s of its %d cores were busy with other things. Rates and durations are worse than "+
			"they would be; requests are not affected much.**\n", Number(others), m.Cores)
	}
}

// Warning says that the figures of a run are not those of this machine; it is empty where they are.
func Warning(others float64) string {
	if others <= QuietMachine {
		return ""
	}
	return fmt.Sprintf("WARNING: other programs kept %.2f cores busy meanwhile, more than %.1f: rates and durations are of no use, requests are not affected much",
		others, QuietMachine)
}

// Table begins a table under a title.
func Table(out io.Writer, title string, columns ...string) {
	fmt.Fprintf(out, "\n### %s\n\n", title)
	Row(out, columns...)
	fmt.Fprintln(out, strings.Repeat("|---", len(columns))+"|")
}

// Row is a line of a table.
func Row(out io.Writer, cells ...string) {
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

// Text is the median, with the lowest and the highest of several runs in brackets.
func (s Spread) Text(runs int) string {
	if runs < 2 {
		return Number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", Number(s.Median), Number(s.Min), Number(s.Max))
}

// Number has three digits that say something.
func Number(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 1:
		return fmt.Sprintf("%.2f", f)
	default:
		return fmt.Sprintf("%.3f", f)
	}
}
