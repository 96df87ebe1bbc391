package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks is USER_HZ, in which /proc counts processor time; it is 100 on every Linux that Go runs on.
const ticks = 100

// Usage is what a process has used since its start.
type Usage struct {
	// CPU is processor time in seconds.
	CPU float64 `json:"cpuSeconds"`
	// RSS and Peak are the resident memory now and at its highest, in megabytes.
	RSS  float64 `json:"rssMB"`
	Peak float64 `json:"peakMB"`
}

// Since is what was used after an earlier look; memory is as it is.
func (u Usage) Since(earlier Usage) Usage {
	u.CPU -= earlier.CPU
	return u
}

// UsageOf reads what a process has used.
func UsageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	u, err := parseUsage(stat, status)
	if err != nil {
		return Usage{}, fmt.Errorf("usage of process %d: %w", pid, err)
	}
	return u, nil
}

func parseUsage(stat, status []byte) (Usage, error) {
	var u Usage
	// The second field is the name, in brackets, and may contain anything; user and system time are the 14th and the 15th.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("/proc/…/stat is not understood: %.80q", stat)
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return u, fmt.Errorf("processor time: %w", err)
		}
		u.CPU += float64(n) / ticks
	}
	for key, value := range map[string]*float64{"VmRSS:": &u.RSS, "VmHWM:": &u.Peak} {
		kilobytes, err := kilobytesOf(status, key)
		if err != nil {
			return u, err
		}
		*value = kilobytes / 1024
	}
	return u, nil
}

// kilobytesOf finds a line "Key:   123 kB".
func kilobytesOf(text []byte, key string) (float64, error) {
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == key {
			return strconv.ParseFloat(fields[1], 64)
		}
	}
	return 0, fmt.Errorf("no line %s", key)
}
