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
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// PauseImage is in every node: cmd/pause. Every Pod's first container runs it, and tests take it for workloads: it waits,
// serves /healthz, or asks an API server who it is.
const PauseImage = "fleet-lab/pause:1"

// archive is an image in a file, made of one program by tools/image.
type archive struct {
	target  string
	program string
	version string
	more    []string
}

// ProductImage writes the image of a product's program, as rancher/fleet:<tag> and rancher/fleet-agent:<tag>, into a file
// for LoadImages, unless the file is there already.
func ProductImage(ctx context.Context, root, program, tag string, out io.Writer) (path string, err error) {
	tool := imageTool(root)
	if err := tool.ensure(ctx, out); err != nil {
		return "", err
	}
	a := archive{target: filepath.Join(binDir(root), "fleet-"+tag+".tar"), program: program, version: tag}
	return a.target, a.ensure(ctx, tool.target, out)
}

func imageTool(root string) module {
	return module{dir: filepath.Join(root, "tools"), pkg: "image", target: filepath.Join(binDir(root), "image")}
}

// buildNodeParts makes what nodes need beside the binaries of the control plane.
func buildNodeParts(ctx context.Context, root string, out io.Writer, binaries *Binaries) error {
	tool, bin := imageTool(root), binDir(root)
	first := module{dir: filepath.Join(root, "e2e"), pkg: "cmd/nodeinit", target: filepath.Join(bin, "nodeinit")}
	pause := module{dir: filepath.Join(root, "e2e"), pkg: "cmd/pause", target: filepath.Join(bin, "pause")}
	for _, m := range []module{first, pause, tool} {
		if err := m.ensure(ctx, out); err != nil {
			return err
		}
	}
	name, version, _ := strings.Cut(PauseImage, ":")
	image := archive{
		target: filepath.Join(bin, "pause.tar"), program: pause.target, version: version,
		more: []string{"-names", name, "-program", "pause", "-links", ""},
	}
	binaries.NodeInit, binaries.PauseImage = first.target, image.target
	return image.ensure(ctx, tool.target, out)
}

// ensure writes the file unless it was written from the same program, by the same tool.
func (a archive) ensure(ctx context.Context, tool string, out io.Writer) error {
	digest, err := a.digest(tool)
	if err != nil {
		return err
	}
	file := module{target: a.target}
	if file.isBuiltFrom(digest) {
		return nil
	}
	unlock, err := file.lock(ctx, out)
	if err != nil {
		return err
	}
	defer unlock()
	if file.isBuiltFrom(digest) {
		return nil
	}
	folder, err := os.MkdirTemp(filepath.Dir(a.target), "image-")
	if err != nil {
		return fmt.Errorf("image of %s: %w", a.program, err)
	}
	defer os.RemoveAll(folder)
	args := append([]string{"-version", a.version, "-archive-only", "-out", folder}, a.more...)
	write := exec.CommandContext(ctx, tool, append(args, "linux/"+runtime.GOARCH+"="+a.program)...)
	output, err := write.CombinedOutput()
	if err != nil {
		return fmt.Errorf("image of %s: %w: %s", a.program, err, output)
	}
	written, err := filepath.Glob(filepath.Join(folder, "*.tar"))
	if err != nil || len(written) != 1 {
		return fmt.Errorf("image of %s: %s wrote %d archives", a.program, tool, len(written))
	}
	if err := os.Rename(written[0], a.target); err != nil {
		return fmt.Errorf("image of %s: %w", a.program, err)
	}
	return file.record(digest)
}

// digest stands for the files that decide about the archive.
func (a archive) digest(tool string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %q\n", a.version, a.more)
	for _, path := range []string{a.program, tool} {
		file, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("image of %s: %w", a.program, err)
		}
		_, err = io.Copy(sum, file)
		file.Close()
		if err != nil {
			return "", fmt.Errorf("image of %s: %w", a.program, err)
		}
	}
	return fmt.Sprintf("%x\n", sum.Sum(nil)), nil
}

// LoadImages gives the images in archives, as docker save and tools/image write them, to all nodes that run.
func (c *ControlPlane) LoadImages(ctx context.Context, archives ...string) error {
	if c.state.Nodes == 0 {
		return fmt.Errorf("control plane %s has no nodes to load images into (scripts/lab up --nodes %s)", c.Name, c.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes, ctx := errgroup.WithContext(ctx)
	for _, name := range c.Nodes() {
		if !c.runs(name) {
			continue
		}
		nodes.Go(func() error {
			for _, archive := range archives {
				if err := c.loadImage(ctx, name, archive); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nodes.Wait()
}

// loadImage returns when the kubelet would find the images: containerd's part for Kubernetes marks them when it knows them.
func (c *ControlPlane) loadImage(ctx context.Context, node, archive string) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if _, err := c.ctr(ctx, node, "images", "import", archive); err != nil {
		return fmt.Errorf("load %s into %s of %s: %w", archive, node, c.Name, err)
	}
	for {
		unknown, err := c.ctr(ctx, node, "images", "list", "-q", `labels."io.cri-containerd.image"!=managed`)
		if err == nil && strings.TrimSpace(unknown) == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("load %s into %s of %s: %w", archive, node, c.Name, errors.Join(context.Cause(ctx), err, fmt.Errorf("not known to the kubelet: %s", unknown)))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// containerdAnswers asks for the list of images.
func (c *ControlPlane) containerdAnswers(node string) check {
	return func(ctx context.Context) error {
		_, err := c.ctr(ctx, node, "images", "list", "-q")
		return err
	}
}

// ctr asks a node's containerd. Its socket is in the node's own /run, which process 1 of the node leads to.
func (c *ControlPlane) ctr(ctx context.Context, node string, args ...string) (string, error) {
	socket := fmt.Sprintf("/proc/%d/root%s", c.state.Processes[node].PID, containerdSocket)
	if _, err := os.Stat(socket); err != nil {
		return "", fmt.Errorf("containerd of %s does not listen yet: %w", node, err)
	}
	command := exec.CommandContext(ctx, "ctr", append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...)
	var complaints strings.Builder
	command.Stderr = &complaints
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return string(output), nil
}
