package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const (
	containerdSocket = "/run/containerd/containerd.sock"
	// startAgain is the pause before a program that has ended is started again.
	startAgain = time.Second
	// kubeletGrace and podsGrace are how long they may take to end.
	kubeletGrace = 3 * time.Second
	podsGrace    = 5 * time.Second
	// lookEvery is how often it is looked whether something is there, or gone.
	lookEvery = 50 * time.Millisecond
)

// node is what runs here. Its fields belong to the one goroutine of supervise.
type node struct {
	containerd, kubelet program
	kubeletWanted       bool
}

// program is one that is to run all the time.
type program struct {
	command []string
	pid     int // 0 while it does not run
}

// supervise keeps containerd and the kubelet running until SIGTERM, and waits for whatever is orphaned here.
func supervise(state string, kubelet []string) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCHLD)
	n := &node{
		containerd: program{command: []string{"containerd", "--config", filepath.Join(state, "containerd.toml")}},
		kubelet:    program{command: kubelet}, kubeletWanted: true,
	}
	// The ticker starts again what ended, and the kubelet as soon as containerd listens.
	ticker := time.NewTicker(startAgain)
	defer ticker.Stop()
	soon := time.NewTicker(lookEvery)
	defer soon.Stop()
	if err := n.containerd.start(); err != nil {
		return err
	}
	for first := true; ; {
		select {
		case s := <-signals:
			switch s {
			case syscall.SIGTERM:
				n.end()
				return nil
			case syscall.SIGUSR1:
				n.kubeletWanted = false
				n.kubelet.signal(syscall.SIGTERM)
			case syscall.SIGUSR2:
				n.kubeletWanted = true
			case syscall.SIGCHLD:
				n.reap()
			}
		case <-soon.C:
			if _, err := os.Stat(containerdSocket); first && err == nil {
				first = false
				soon.Stop()
				n.revive()
			}
		case <-ticker.C:
			if !first || n.containerd.pid == 0 {
				n.revive()
			}
		}
	}
}

// revive starts what should run and does not.
func (n *node) revive() {
	if n.containerd.pid == 0 {
		complain(n.containerd.start())
	}
	if _, err := os.Stat(containerdSocket); err == nil && n.kubeletWanted && n.kubelet.pid == 0 {
		complain(n.kubelet.start())
	}
}

// reap takes the exit of every process that has ended: ours and those whose parents ended before.
func (n *node) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		for _, p := range []*program{&n.containerd, &n.kubelet} {
			if p.pid == pid {
				p.pid = 0
				fmt.Fprintf(os.Stderr, "nodeinit: %s ended: exit code %d, signal %d\n", filepath.Base(p.command[0]), status.ExitStatus(), status.Signal())
			}
		}
	}
}

// end is the end of the node but for what the kernel does when process 1 is gone. Without a kubelet nobody starts Pods
// again; those that want to, end in order.
func (n *node) end() {
	n.kubelet.signal(syscall.SIGTERM)
	n.await(kubeletGrace, func() bool { return n.kubelet.pid == 0 })
	n.kubelet.signal(syscall.SIGKILL)
	for _, pid := range podProcesses() {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	n.await(podsGrace, func() bool { return len(podProcesses()) == 0 })
}

func (n *node) await(limit time.Duration, done func() bool) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(lookEvery) {
		n.reap()
		if done() {
			return
		}
	}
}

func (p *program) start() error {
	path, err := exec.LookPath(p.command[0])
	if err != nil {
		return fmt.Errorf("start %s: %w", p.command[0], err)
	}
	// Not by os/exec, which waits for its children itself.
	pid, err := syscall.ForkExec(path, p.command, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	p.pid = pid
	return nil
}

func (p *program) signal(s syscall.Signal) {
	if p.pid != 0 {
		_ = syscall.Kill(p.pid, s)
	}
}

func complain(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodeinit:", err)
	}
}
