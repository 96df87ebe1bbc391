package main

import "testing"

func TestHierarchiesAreFoundInMountinfo(t *testing.T) {
	for line, want := range map[string][3]string{
		"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n":                 {"/sys/fs/cgroup/memory", "cgroup", "memory"},
		"36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,xattr,cpu,cpuacct\n": {"/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cpu,cpuacct"},
		"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,release_agent=/x,name=systemd\n":  {"/sys/fs/cgroup/systemd", "cgroup", "none,name=systemd"},
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n":                     {"/sys/fs/cgroup/unified", "cgroup2", ""},
	} {
		target, kind, options, ok := hierarchy(line)
		if got := [3]string{target, kind, options}; !ok || got != want {
			t.Errorf("%q: %v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n", "no separator\n"} {
		if _, _, _, ok := hierarchy(line); ok {
			t.Errorf("%q is no hierarchy", line)
		}
	}
}
