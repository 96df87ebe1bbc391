package stage

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// BuildProduct runs scripts/build and returns the program that it makes. The build has a process group of its own: an
// interruption is ours to notice, and the end of ctx ends the compilers too.
func BuildProduct(ctx context.Context, root string, out io.Writer) (program string, err error) {
	build := exec.CommandContext(ctx, filepath.Join(root, "scripts", "build"))
	build.Dir, build.Stdout, build.Stderr = root, out, out
	build.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	build.Cancel = func() error { return syscall.Kill(-build.Process.Pid, syscall.SIGTERM) }
	build.WaitDelay = 10 * time.Second
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("scripts/build: %w", err)
	}
	return builtProgram(root), nil
}
