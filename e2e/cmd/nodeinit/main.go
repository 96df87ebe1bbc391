// Command nodeinit is process 1 of a lab's node: the lab starts it in a process namespace and a mount namespace of its own,
// and it makes the rest of the node there, runs containerd and the kubelet, and takes everything with it when it ends.
//
//	nodeinit enter STATE LOGS CGROUP,... PROGRAM KUBELET-ARGUMENTS...
//
// STATE is the node's folder on disk, LOGS becomes /var/log, the CGROUPs are directories that the node gets for itself, one
// in each hierarchy, and PROGRAM with its arguments is the kubelet. SIGUSR1 stops the kubelet, SIGUSR2 starts it again, and
// SIGTERM ends the node: the kubelet first, the Pods with a SIGTERM of their own, then all that is left.
//
// It imports the standard library and golang.org/x/sys only. Linux only, and for root.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// The main thread alone has what the lab asks for: the signal at the end of who started us. It has to be the one that
// executes this program again.
func init() { runtime.LockOSThread() }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nodeinit:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 5 {
		return fmt.Errorf("%d arguments: it is called as nodeinit enter|run STATE LOGS CGROUP,... PROGRAM ARGUMENTS...", len(args))
	}
	state, logs, cgroups, kubelet := args[1], args[2], strings.Split(args[3], ","), args[4:]
	switch args[0] {
	case "enter":
		return enter(cgroups, args[1:])
	case "run":
		if err := arrange(state, logs); err != nil {
			return err
		}
		return supervise(state, kubelet)
	default:
		return fmt.Errorf("%q is neither enter nor run", args[0])
	}
}
