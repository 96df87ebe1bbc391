package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Identity names one process for good: ids are used again, the start time with the id is not before the next boot.
type Identity struct {
	PID int `json:"pid"`
	// Started is in clock ticks since boot, as in /proc.
	Started uint64 `json:"started"`
}

// Running says whether the process of this identity is alive and has mark in its command line (a zombie has none).
func (id Identity) Running(mark string) bool {
	if id.PID <= 0 {
		return false
	}
	now, err := identify(id.PID)
	if err != nil || now != id {
		return false
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.PID))
	return err == nil && bytes.Contains(command, []byte(mark))
}

// Signal sends a signal to the process. One that has ended, or is not the recorded one any more, is an error.
func (id Identity) Signal(mark string, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if err != nil || !id.Running(mark) {
		return fmt.Errorf("process %d does not run", id.PID)
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		return fmt.Errorf("%s to process %d: %w", unix.SignalName(sig), id.PID, err)
	}
	return nil
}

// End asks the process to end and kills it after the grace; it waits until the process is gone. A process that is not the
// recorded one any more is left alone.
func (id Identity) End(ctx context.Context, mark string, grace time.Duration) error {
	// The descriptor is taken before the check, so that what was checked is what gets the signal.
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: %w", id.PID, err)
	}
	defer unix.Close(fd)
	if !id.Running(mark) {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("SIGTERM to process %d: %w", id.PID, err)
	}
	ended, err := waitForEnd(ctx, fd, grace)
	if ended || err != nil {
		return err
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("SIGKILL to process %d: %w", id.PID, err)
	}
	ended, err = waitForEnd(ctx, fd, 10*time.Second)
	if err == nil && !ended {
		err = fmt.Errorf("process %d outlives SIGKILL", id.PID)
	}
	return err
}

// waitForEnd waits on the process's descriptor, which becomes readable when the process ends.
func waitForEnd(ctx context.Context, fd int, limit time.Duration) (bool, error) {
	deadline := time.Now().Add(limit)
	for {
		if err := ctx.Err(); err != nil {
			return false, context.Cause(ctx)
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		// Short turns, to notice the end of ctx.
		wait := int(min(left, 100*time.Millisecond).Milliseconds()) + 1
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, wait)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return false, fmt.Errorf("wait for the end of a process: %w", err)
		}
		if n > 0 {
			return true, nil
		}
	}
}

// identify reads a process's identity from /proc, also that of one that has ended and was not waited for.
func identify(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	// The second field is the name, in brackets, and may contain anything. The third is the state, the 22nd the start.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(fields) < 20 {
		return Identity{}, fmt.Errorf("process %d: /proc/%d/stat is not understood", pid, pid)
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: start time: %w", pid, err)
	}
	return Identity{PID: pid, Started: started}, nil
}
