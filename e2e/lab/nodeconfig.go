package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/yaml"
)

// What a node reads, below its folder. The kubelet and containerd keep what they write in their usual places, which the
// node has for itself (cmd/nodeinit).
const (
	fileKubelet    = "kubelet.yaml"
	fileContainerd = "containerd.toml"
	fileResolver   = "resolv.conf"
	folderCNI      = "cni"
	folderPull     = "registries"
	folderPodIPs   = "addresses"
)

const (
	containerdSocket = "/run/containerd/containerd.sock"
	// A node counts as gone nodeGrace after its last sign of life; it gives one each quarter of nodeLease.
	nodeLeaseSeconds = 20
	nodeGrace        = "24s"
	nodeMonitor      = "2s"
)

const nodePrefix = "node-"

func nodeName(number int) string { return nodePrefix + strconv.Itoa(number) }

func (c *ControlPlane) nodeDir(number int) string { return c.path(nodeName(number)) }

// writeNode writes what a node reads, anew at each start: authority and addresses may have changed.
func (c *ControlPlane) writeNode(number int) error {
	dir := c.nodeDir(number)
	if err := os.MkdirAll(filepath.Join(dir, folderCNI), 0o700); err != nil {
		return fmt.Errorf("folder of %s: %w", nodeName(number), err)
	}
	settings, err := yaml.Marshal(c.kubeletConfig(number))
	if err != nil {
		return fmt.Errorf("configuration of %s: %w", nodeName(number), err)
	}
	network, err := json.Marshal(c.podNetwork())
	if err != nil {
		return fmt.Errorf("configuration of %s: %w", nodeName(number), err)
	}
	for file, content := range map[string][]byte{
		fileKubelet:    settings,
		fileContainerd: fmt.Appendf(nil, containerdConfig, PauseImage, cniFolder, filepath.Join(dir, folderCNI), filepath.Join(dir, folderPull)),
		// Nobody answers there, and so every name is unknown at once.
		fileResolver: []byte("nameserver 127.0.0.1\n"),
		filepath.Join(folderCNI, "10-lab.conflist"): network,
	} {
		if err := writeFile(filepath.Join(dir, file), content); err != nil {
			return err
		}
	}
	return c.writeNodeKubeconfig(number)
}

// writeNodeKubeconfig gives the kubelet the identity that the API server's Node authorizer knows.
func (c *ControlPlane) writeNodeKubeconfig(number int) error {
	kubeconfig, err := c.clientCertKubeconfig("system:node:"+nodeName(number), certLife, "system:nodes")
	if err != nil {
		return err
	}
	return kubeconfig.Write(filepath.Join(c.nodeDir(number), fileKubeconfig))
}

// kubeletConfig is a KubeletConfiguration. The kubelet manages no cgroups of its own, watches no disk, removes no image, and
// leaves iptables and the kernel's settings alone.
func (c *ControlPlane) kubeletConfig(number int) map[string]any {
	return map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"address":    c.slot.nodeAddress(number),
		"port":       c.slot.port(portKubelet),

		"readOnlyPort": 0,
		"healthzPort":  0,
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": c.path(fileClientCA + pairCert)},
		},
		"authorization":                 map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint":      "unix://" + containerdSocket,
		"failCgroupV1":                  false,
		"cgroupDriver":                  "cgroupfs",
		"cgroupsPerQOS":                 false,
		"enforceNodeAllocatable":        []string{},
		"failSwapOn":                    false,
		"localStorageCapacityIsolation": false,
		"makeIPTablesUtilChains":        false,
		"protectKernelDefaults":         true,
		"volumePluginDir":               "/var/lib/kubelet/volume-plugins",
		"clusterDNS":                    []string{"127.0.0.1"},
		"clusterDomain":                 "cluster.local",
		"resolvConf":                    filepath.Join(c.nodeDir(number), fileResolver),
		"imageGCHighThresholdPercent":   100,
		"imageGCLowThresholdPercent":    99,
		"evictionHard":                  map[string]string{"nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"},
		"nodeLeaseDurationSeconds":      nodeLeaseSeconds,
		"nodeStatusUpdateFrequency":     "5s",
		"serializeImagePulls":           false,
	}
}

func (c *ControlPlane) kubeletArgs(number int) []string {
	dir := c.nodeDir(number)
	return []string{
		c.state.Binaries.Kube, kubelet,
		"--config=" + filepath.Join(dir, fileKubelet),
		"--kubeconfig=" + filepath.Join(dir, fileKubeconfig),
		"--hostname-override=" + nodeName(number),
		"--node-ip=" + c.slot.nodeAddress(number),
		"--cert-dir=/var/lib/kubelet/pki",
	}
}

// podNetwork is a CNI configuration: the bridge that is there, and addresses of which all nodes keep one book.
func (c *ControlPlane) podNetwork() map[string]any {
	return map[string]any{
		"cniVersion": "0.4.0",
		"name":       "fleet-lab",
		"plugins": []any{map[string]any{
			"type": "bridge", "bridge": c.slot.bridge(), "isGateway": false, "ipMasq": false,
			"ipam": map[string]any{
				"type": "host-local", "dataDir": c.path(folderPodIPs),
				"ranges": []any{[]any{map[string]any{
					"subnet": c.slot.podRange(), "gateway": c.slot.gateway(),
					"rangeStart": c.slot.podAddress(firstPodAddress), "rangeEnd": c.slot.podAddress(lastPodAddress),
				}}},
				"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
			},
		}},
	}
}

// containerdConfig lacks the image of Pods' first containers, the folder of the CNI plugins, that of their configuration, and
// that of how registries are reached. Without restrict_oom_score_adj no container starts where the right to raise it is missing.
const containerdConfig = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "/run/containerd/containerd.sock"

[debug]
  level = "warn"

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/%s"
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %q
`
