package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Binaries are the paths of what a control plane runs.
type Binaries struct {
	Etcd string
	// Kube is one binary for all Kubernetes components; the first argument picks one.
	Kube string
	// NodeInit is the first process of a node, and PauseImage the archive of the image that each needs: only with nodes.
	NodeInit, PauseImage string
}

// Build makes the binaries of one Kubernetes line in .lab/bin, unless those that are there were made from the same
// modules. The first build of a line takes minutes; progress goes to out.
func Build(ctx context.Context, root, version string, out io.Writer) (Binaries, error) {
	lines, err := Versions(root)
	if err != nil {
		return Binaries{}, err
	}
	if !slices.Contains(lines, version) {
		return Binaries{}, fmt.Errorf("no Kubernetes line %q: this checkout has %s", version, strings.Join(lines, ", "))
	}
	if err := os.MkdirAll(binDir(root), 0o755); err != nil {
		return Binaries{}, fmt.Errorf("folder of the lab's binaries: %w", err)
	}
	binaries, modules := plan(root, version)
	for _, m := range modules {
		if err := m.ensure(ctx, out); err != nil {
			return Binaries{}, err
		}
	}
	return binaries, nil
}

// Built says whether Build would have nothing to do.
func Built(root, version string) (bool, error) {
	_, modules := plan(root, version)
	for _, m := range modules {
		digest, err := m.digest()
		if err != nil {
			return false, err
		}
		if !m.isBuiltFrom(digest) {
			return false, nil
		}
	}
	return true, nil
}

func plan(root, version string) (Binaries, []module) {
	bin := binDir(root)
	binaries := Binaries{Etcd: filepath.Join(bin, "etcd"), Kube: filepath.Join(bin, "kube-"+version)}
	return binaries, []module{
		{dir: filepath.Join(kubeDir(root), "etcd"), target: binaries.Etcd},
		{dir: filepath.Join(kubeDir(root), version), target: binaries.Kube, kubernetes: true},
	}
}

func binDir(root string) string { return filepath.Join(DefaultStateDir(root), binFolder) }

const (
	// recordSuffix names the file that says what a binary was built from.
	recordSuffix = ".sha256"
	// lockSuffix names the file that one builder holds.
	lockSuffix = ".lock"
)

// module is one Go module that becomes one binary.
type module struct {
	dir string
	// pkg is the folder of the main package below dir; dir itself if empty.
	pkg        string
	target     string
	kubernetes bool
}

// ensure builds the module unless the binary's recorded digest is the module's.
func (m module) ensure(ctx context.Context, out io.Writer) error {
	digest, err := m.digest()
	if err != nil || m.isBuiltFrom(digest) {
		return err
	}
	// Test processes of several packages start at once: the first one builds, the others wait.
	unlock, err := m.lock(ctx, out)
	if err != nil {
		return err
	}
	defer unlock()
	if m.isBuiltFrom(digest) {
		return nil
	}
	flags, err := m.ldflags(ctx)
	if err != nil {
		return err
	}
	fresh := m.target + ".new"
	if err := m.compile(ctx, out, fresh, flags); err != nil {
		return err
	}
	// A rename leaves control planes that run the old binary alone.
	if err := os.Rename(fresh, m.target); err != nil {
		return fmt.Errorf("install %s: %w", m.target, err)
	}
	return m.record(digest)
}

func (m module) record(digest string) error {
	if err := os.WriteFile(m.target+recordSuffix, []byte(digest), 0o644); err != nil {
		return fmt.Errorf("record what %s was built from: %w", m.target, err)
	}
	return nil
}

func (m module) isBuiltFrom(digest string) bool {
	if _, err := os.Stat(m.target); err != nil {
		return false
	}
	record, err := os.ReadFile(m.target + recordSuffix)
	return err == nil && string(record) == digest
}

// digest stands for everything that decides about the binary: the pinned modules and our few lines.
func (m module) digest() (string, error) {
	sum := sha256.New()
	sources, err := filepath.Glob(filepath.Join(m.dir, m.pkg, "*.go"))
	if err != nil {
		return "", fmt.Errorf("module of %s: %w", filepath.Base(m.target), err)
	}
	for _, path := range append([]string{filepath.Join(m.dir, "go.mod"), filepath.Join(m.dir, "go.sum")}, sources...) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("module of %s: %w", filepath.Base(m.target), err)
		}
		fmt.Fprintf(sum, "%s %d\n", filepath.Base(path), len(content))
		sum.Write(content)
	}
	return fmt.Sprintf("%x\n", sum.Sum(nil)), nil
}

// ldflags tell Kubernetes its own version: clients fail on the placeholder that an unstamped server reports.
func (m module) ldflags(ctx context.Context) (string, error) {
	flags := "-s -w"
	if !m.kubernetes {
		return flags, nil
	}
	list := m.command(ctx, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	output, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("version of k8s.io/kubernetes in %s: %w", m.dir, err)
	}
	version := strings.TrimSpace(string(output))
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) != 3 {
		return "", fmt.Errorf("version of k8s.io/kubernetes in %s: %q has no three parts", m.dir, version)
	}
	const variable = " -X k8s.io/component-base/version."
	return flags + variable + "gitVersion=" + version + variable + "gitMajor=" + parts[0] + variable + "gitMinor=" + parts[1], nil
}

func (m module) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return cmd
}

// lock waits until no other process builds the binary. The kernel gives the lock back when a holder ends.
func (m module) lock(ctx context.Context, out io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(m.target+lockSuffix, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	start := time.Now()
	for told := false; ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if !told {
			told = true
			fmt.Fprintf(out, "lab: another process is building %s, waiting for it\n", filepath.Base(m.target))
		} else if time.Since(start) > progressEvery {
			start = time.Now()
			fmt.Fprintf(out, "lab: still waiting for the other build of %s\n", filepath.Base(m.target))
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("waiting for another build of %s: %w", filepath.Base(m.target), context.Cause(ctx))
		case <-time.After(500 * time.Millisecond):
		}
	}
}
