package lab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// progressEvery is how long a build stays silent at most.
const progressEvery = 20 * time.Second

// compile runs go build and prints a line now and then: on a cold cache it takes minutes.
func (m module) compile(ctx context.Context, out io.Writer, target, ldflags string) error {
	name := filepath.Base(m.target)
	switch {
	case m.kubernetes:
		fmt.Fprintf(out, "lab: building %s from its Go modules; the first build takes 8 to 14 minutes on 2 cores\n", name)
	case m.pkg != "":
		fmt.Fprintf(out, "lab: building %s\n", name)
	default:
		fmt.Fprintf(out, "lab: building %s from its Go modules; the first build takes about a minute\n", name)
	}
	start := time.Now()
	total := m.countPackages(ctx)

	cmd := m.command(ctx, "build", "-v", "-buildvcs=false", "-ldflags", ldflags, "-o", target, "./"+m.pkg)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w (is Go installed and on the PATH?)", name, err)
	}
	var compiled atomic.Int64
	stop := reportProgress(out, name, start, total, &compiled)
	// Wait closes the pipe, so it comes after the last line was read.
	complaints := readBuildOutput(pipe, &compiled)
	err = cmd.Wait()
	stop()
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: %w", name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, complaints)
	}
	fmt.Fprintf(out, "lab: built %s in %s\n", name, time.Since(start).Round(time.Second))
	return nil
}

// countPackages says how many packages the binary consists of; 0 when that cannot be told.
func (m module) countPackages(ctx context.Context) int {
	output, err := m.command(ctx, "list", "-deps", "./"+m.pkg).Output()
	if err != nil {
		return 0
	}
	return bytes.Count(output, []byte("\n"))
}

func reportProgress(out io.Writer, name string, start time.Time, total int, compiled *atomic.Int64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(out, "lab: building %s: %s, compiled %d of at most %d packages\n",
					name, time.Since(start).Round(time.Second), compiled.Load(), total)
			}
		}
	}()
	return func() { close(done); <-ended }
}

// readBuildOutput counts the names of compiled packages and keeps everything else, which is what went wrong.
func readBuildOutput(pipe io.Reader, compiled *atomic.Int64) string {
	var complaints strings.Builder
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#") || strings.ContainsAny(line, " \t:"):
			if !strings.HasPrefix(line, "go: downloading ") {
				complaints.WriteString(line + "\n")
			}
		default:
			compiled.Add(1)
		}
	}
	return complaints.String()
}
