package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// cniFolder is where Debian has the CNI plugins.
const cniFolder = "/usr/lib/cni"

// nodeTools are the programs that nodes need, and the Debian packages that bring them.
var nodeTools = []struct{ program, debian string }{
	{"containerd", "containerd"},
	{"containerd-shim-runc-v2", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{filepath.Join(cniFolder, "bridge"), "containernetworking-plugins"},
	{filepath.Join(cniFolder, "host-local"), "containernetworking-plugins"},
	{filepath.Join(cniFolder, "loopback"), "containernetworking-plugins"},
	{"ip", "iproute2"},
	{"mount", "mount"},
}

// CheckNodes says why this machine cannot have nodes; all that is missing is in one error.
func CheckNodes() error {
	var missing []string
	for _, tool := range nodeTools {
		if _, err := exec.LookPath(tool.program); err != nil && !slices.Contains(missing, tool.debian) {
			missing = append(missing, tool.debian)
		}
	}
	var problems []error
	if len(missing) > 0 {
		problems = append(problems, fmt.Errorf("missing packages; as root: apt-get install -y --no-install-recommends %s (scripts/install-node-packages does that)", strings.Join(missing, " ")))
	}
	return errors.Join(append(problems, checkRights(), checkCgroups())...)
}

// checkRights looks for the capabilities themselves: root in a container has few.
func checkRights() error {
	if os.Geteuid() != 0 {
		return errors.New("nodes need root: they make namespaces, mounts and a network bridge")
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("rights of this process: %w", err)
	}
	_, after, _ := strings.Cut(string(status), "CapEff:")
	held, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]), 16, 64)
	if err != nil {
		return fmt.Errorf("rights of this process: %w", err)
	}
	for name, bit := range map[string]int{"SYS_ADMIN": unix.CAP_SYS_ADMIN, "NET_ADMIN": unix.CAP_NET_ADMIN} {
		if held&(1<<bit) == 0 {
			return fmt.Errorf("nodes need the capability CAP_%s, which this root does not have (a container? run it privileged)", name)
		}
	}
	return nil
}

// checkCgroups wants the first version, with which the nodes were made.
func checkCgroups() error {
	dirs, err := newCgroups("x")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if strings.HasPrefix(dir, "/sys/fs/cgroup/memory/") {
			return nil
		}
	}
	return errors.New("nodes need cgroups of version 1 (/sys/fs/cgroup/memory); this machine has none (systemd.unified_cgroup_hierarchy=0 on the kernel's command line brings them back)")
}

// checkPlace refuses folders that a node does not see: it has others of its own in their place.
func checkPlace(stateDir string) error {
	for _, hidden := range []string{"/run", "/var/lib", "/var/log", "/proc", "/sys"} {
		if stateDir == hidden || strings.HasPrefix(stateDir, hidden+"/") {
			return fmt.Errorf("%s is below %s, of which nodes have their own: use a checkout, or a state directory, elsewhere", stateDir, hidden)
		}
	}
	return nil
}

// NeedNodes skips a test on machines that cannot have nodes, and says why; scripts/test repeats that at its end.
func NeedNodes(t testing.TB) {
	t.Helper()
	if err := CheckNodes(); err != nil {
		t.Skipf("reduced: no tests with nodes on this machine: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}
