package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rancher/fleet/e2e/proc"
)

// Nodes are the names of the control plane's nodes.
func (c *ControlPlane) Nodes() []string {
	var names []string
	for number := range c.state.Nodes {
		names = append(names, nodeName(number+1))
	}
	return names
}

// startNodes starts scheduler and nodes, if there are to be any, and waits until each node is Ready. What they leave
// outside of their folders is recorded before.
func (c *ControlPlane) startNodes(ctx context.Context) error {
	if c.state.Nodes == 0 {
		return nil
	}
	if err := c.startScheduler(ctx); err != nil {
		return err
	}
	// Pods of an earlier start are gone, and with them the right to their addresses.
	if err := os.RemoveAll(c.path(folderPodIPs)); err != nil {
		return fmt.Errorf("addresses of Pods of %s: %w", c.Name, err)
	}
	for number := range c.state.Nodes {
		if err := c.startNode(ctx, number+1); err != nil {
			return err
		}
	}
	nodes, ctx := errgroup.WithContext(ctx)
	for _, name := range c.Nodes() {
		nodes.Go(func() error { return c.awaitNode(ctx, name) })
	}
	return nodes.Wait()
}

// startNode starts a node's first process, which makes the rest.
func (c *ControlPlane) startNode(ctx context.Context, number int) error {
	if err := c.writeNode(number); err != nil {
		return err
	}
	name := nodeName(number)
	cgroups, err := newCgroups("fleet-lab-" + strconv.Itoa(c.slot.number) + "-" + name)
	if err != nil {
		return err
	}
	if c.state.Cgroups == nil {
		c.state.Cgroups = map[string][]string{}
	}
	c.state.Cgroups[name] = cgroups
	if err := c.state.write(c.Dir); err != nil {
		return err
	}
	return c.start(ctx, proc.Spec{
		Name: name, Path: c.state.Binaries.NodeInit, Args: append(
			[]string{"enter", c.nodeDir(number), filepath.Join(c.Dir, folderLogs, name), strings.Join(cgroups, ",")}, c.kubeletArgs(number)...),
		Namespaces: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Files: c.slot.files(),
	})
}

// awaitNode waits until containerd works, gives it the image that all Pods need, and waits until the node is Ready.
func (c *ControlPlane) awaitNode(ctx context.Context, name string) error {
	if err := c.await(ctx, name, "has a containerd that answers", c.containerdAnswers(name)); err != nil {
		return err
	}
	if err := c.loadImage(ctx, name, c.state.Binaries.PauseImage); err != nil {
		return err
	}
	return c.await(ctx, name, "is Ready", c.nodeReady(name))
}

// clearNodes removes what ended nodes have left outside of their folders. Whose slot it is decides: the next holder clears
// it before it uses it.
func clearNodes(ctx context.Context, s state, held *slot) error {
	if s.Nodes == 0 {
		return nil
	}
	if held == nil || held.lock == nil {
		again, err := lockSlot(s.Slot)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil
		}
		if err != nil {
			return err
		}
		defer again.release()
		held = again
	}
	var problems []error
	for _, dirs := range s.Cgroups {
		problems = append(problems, removeCgroups(ctx, dirs))
	}
	return errors.Join(append(problems, held.removeNetwork(ctx))...)
}

// StopNode ends a node as a power cut does, after a short time for its Pods. Its Node object stays and gets NotReady.
func (c *ControlPlane) StopNode(ctx context.Context, name string) error {
	if _, err := c.numberOf(name); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end(ctx, name)
}

// StartNode starts a node again that was stopped, with the images and the Pods that it had, and waits until it is Ready.
func (c *ControlPlane) StartNode(ctx context.Context, name string) error {
	number, err := c.numberOf(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.startNode(ctx, number); err != nil {
		return err
	}
	return c.awaitNode(ctx, name)
}

// StopKubelet ends a node's kubelet and leaves its Pods running: some time later the node is NotReady.
func (c *ControlPlane) StopKubelet(ctx context.Context, name string) error {
	number, err := c.numberOf(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopKubelet(ctx, number)
}

func (c *ControlPlane) stopKubelet(ctx context.Context, number int) error {
	if err := c.state.Processes[nodeName(number)].Signal(c.Dir, syscall.SIGUSR1); err != nil {
		return fmt.Errorf("stop the kubelet of %s: %w", nodeName(number), err)
	}
	return c.await(ctx, nodeName(number), "has no kubelet any more", c.kubeletIsGone(number))
}

// StartKubelet starts a node's kubelet again and waits until the node is Ready.
func (c *ControlPlane) StartKubelet(ctx context.Context, name string) error {
	number, err := c.numberOf(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startKubelet(ctx, number)
}

func (c *ControlPlane) startKubelet(ctx context.Context, number int) error {
	name := nodeName(number)
	ready := c.nodeReady(name)
	if err := c.state.Processes[name].Signal(c.Dir, syscall.SIGUSR2); err != nil {
		return fmt.Errorf("start the kubelet of %s: %w", name, err)
	}
	return c.await(ctx, name, "is Ready", ready)
}

// renewNodes lets kubelets trust a new authority.
func (c *ControlPlane) renewNodes(ctx context.Context) error {
	for i, name := range c.Nodes() {
		if !c.runs(name) {
			continue
		}
		if err := c.writeNodeKubeconfig(i + 1); err != nil {
			return err
		}
		if err := c.stopKubelet(ctx, i+1); err != nil {
			return err
		}
		if err := c.startKubelet(ctx, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *ControlPlane) kubeletIsGone(number int) check {
	address := net.JoinHostPort(c.slot.nodeAddress(number), strconv.Itoa(c.slot.port(portKubelet)))
	return func(ctx context.Context) error {
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil
		}
		conn.Close()
		return fmt.Errorf("%s is still served", address)
	}
}

func (c *ControlPlane) numberOf(name string) (int, error) {
	for i, known := range c.Nodes() {
		if name == known {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("control plane %s has no node %q: it has %v", c.Name, name, c.Nodes())
}
