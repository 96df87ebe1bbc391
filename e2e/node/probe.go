package node

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// probe runs an exec probe until ctx ends, and notes what it says. The product's names stand for the product's binary.
func (a *agentPod) probe(ctx context.Context, probe *corev1.Probe) {
	period := max(time.Duration(probe.PeriodSeconds)*time.Second, time.Second)
	timeout := max(time.Duration(probe.TimeoutSeconds)*time.Second, time.Second)
	failures := int32(0)
	timer := time.NewTimer(time.Duration(probe.InitialDelaySeconds) * time.Second)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		ok, said := a.ask(ctx, timeout, probe.Exec.Command)
		if ctx.Err() != nil {
			return
		}
		if ok {
			failures = 0
		} else {
			failures++
		}
		was := a.view()
		switch {
		case ok && !was.ready:
			a.note(func(v *view) { v.ready, v.why = true, "" })
		case !ok && (!was.ready || failures >= max(probe.FailureThreshold, 1)) && (was.ready || was.why != said):
			a.note(func(v *view) { v.ready, v.why = false, said })
		}
		timer.Reset(period)
	}
}

// ask runs a probe's command once.
func (a *agentPod) ask(ctx context.Context, timeout time.Duration, command []string) (ok bool, said string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	path, args := command[0], command[1:]
	switch filepath.Base(path) {
	case "fleet":
		path = a.node.cfg.Program
	case agentCommand:
		path, args = a.node.cfg.Program, append([]string{"agent"}, args...)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), a.environment()...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return false, "readiness probe: " + err.Error() + ": " + strings.TrimSpace(string(out[:min(len(out), 256)]))
	}
	return true, ""
}
