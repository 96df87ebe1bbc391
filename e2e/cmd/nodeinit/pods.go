package main

import (
	"os"
	"path/filepath"
	"strconv"
)

// podProcesses are the processes of Pods: those that live in another process namespace than this one.
func podProcesses() []int {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		namespace, err := os.Readlink(filepath.Join("/proc", entry.Name(), "ns", "pid"))
		if err == nil && namespace != own {
			pids = append(pids, pid)
		}
	}
	return pids
}
