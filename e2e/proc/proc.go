// Package proc runs child processes for the lab, the suites and the demo: servers, and the product's own binary.
//
// A child dies with its parent unless it was started detached; its output goes to a log file, whose end explains a
// failure; and a process that was started by an earlier run is only touched when it provably is the one that was recorded.
//
// It imports the standard library and golang.org/x/sys only. Linux only.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	// Name stands for the process in messages.
	Name string
	Path string
	Args []string
	// Env is added to the environment of this process, which is passed on without the variables that would tell a
	// Kubernetes client where to connect.
	Env []string
	// Log is the file that takes the output; it is appended to.
	Log string
	// Detached lets the process live on when this one ends. Otherwise it is killed then, whatever the end.
	Detached bool
	// Files are handed to the child, as descriptors 3 and up.
	Files []*os.File
	// Namespaces are the kinds of Linux namespaces (syscall.CLONE_NEW…) that the child gets of its own. With a process
	// namespace it is process 1 there: what it starts ends with it, at the latest.
	Namespaces uintptr
}

// ErrKilled is in the error of a Stop that had to kill.
var ErrKilled = errors.New("had to be killed")

// Process is a child that was started.
type Process struct {
	Name string
	Log  string

	cmd  *exec.Cmd
	id   Identity
	done chan struct{}

	mu       sync.Mutex
	exitCode int
	exitErr  error
}

// Start runs a process. When ctx ends, it gets a SIGTERM, and a SIGKILL after ten seconds more.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o755); err != nil {
		return nil, fmt.Errorf("log of %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", spec.Name, err)
	}
	defer log.Close() // the child has its own descriptor

	cmd := exec.CommandContext(ctx, spec.Path, spec.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(environment(), spec.Env...)
	cmd.ExtraFiles = spec.Files
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: spec.Namespaces} // a Ctrl-C is for us; we end our children in order
	if !spec.Detached {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if err := startOnLastingThread(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{Name: spec.Name, Log: spec.Log, cmd: cmd, done: make(chan struct{}), exitCode: -1}
	// Not waited for yet, so its entry in /proc exists even if it has failed already.
	if p.id, err = identify(cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	err := p.cmd.Wait()
	p.mu.Lock()
	p.exitCode, p.exitErr = p.cmd.ProcessState.ExitCode(), err
	p.mu.Unlock()
	close(p.done)
}

// PID is the process's id.
func (p *Process) PID() int { return p.id.PID }

// Identity is what a later run needs to find and end this very process.
func (p *Process) Identity() Identity { return p.id }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running says whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode is the code that the process ended with: -1 while it runs and when a signal ended it.
func (p *Process) ExitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exitCode
}

// Stop asks the process to end (SIGTERM) and returns its exit code. One that has not ended after the grace is killed, and
// that is an error.
func (p *Process) Stop(grace time.Duration) (int, error) {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return p.ExitCode(), err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.ExitCode(), nil
	case <-timer.C:
		if err := p.Kill(); err != nil {
			return p.ExitCode(), err
		}
		return p.ExitCode(), fmt.Errorf("%s (process %d) %w: it had not ended %s after SIGTERM; see %s", p.Name, p.PID(), ErrKilled, grace, p.Log)
	}
}

// Kill ends the process at once (SIGKILL), as a crash would, and waits until it is gone.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *Process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s to %s (process %d): %w", sig, p.Name, p.PID(), err)
	}
	return nil
}

// Tail is the end of the log.
func (p *Process) Tail(lines int) string { return Tail(p.Log, lines) }

// environment is ours without what in-cluster and default client configuration would read: the flags alone decide.
func environment() []string {
	var out []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name != "KUBECONFIG" && !strings.HasPrefix(name, "KUBERNETES_") {
			out = append(out, variable)
		}
	}
	return out
}
