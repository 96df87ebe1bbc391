package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The network of a control plane with nodes is a bridge in the host's own network namespace, which carries three kinds of
// addresses: the first one of the service range, where the API server listens; the gateway of the Pods; and one for each
// node, where its kubelet listens. So one URL of the API server is good on the machine, in its own Pods (it is what the
// service "kubernetes" says) and in those of every other control plane here, whose packets come in by their own bridge.
// Nothing is forwarded or translated: neither iptables nor net.ipv4.ip_forward is touched.
//
// There are no other services than "kubernetes", and no names: no kube-proxy and no DNS server.
const (
	kubernetesServicePort = 443
	firstNodeAddress      = 10 // of the node after the last one: nodes are counted from 1
	firstPodAddress       = 64
	lastPodAddress        = 254
	// MaxNodes is how many nodes a control plane can have.
	MaxNodes = firstPodAddress - firstNodeAddress - 1
)

func (s *slot) bridge() string { return "fleetlab" + strconv.Itoa(s.number) }

// hardwareAddress is fixed: a bridge without one changes it with its ports, and Pods would talk to an address that is gone.
func (s *slot) hardwareAddress() string { return fmt.Sprintf("02:f1:ee:71:ab:%02x", s.number) }

func (s *slot) serviceAddress() string { return fmt.Sprintf("10.%d.0.1", 128+s.number) }

func (s *slot) podAddress(last int) string { return fmt.Sprintf("10.192.%d.%d", s.number, last) }

func (s *slot) podRange() string { return s.podAddress(0) + "/24" }

func (s *slot) gateway() string { return s.podAddress(1) }

func (s *slot) nodeAddress(node int) string { return s.podAddress(firstNodeAddress + node) }

// makeNetwork makes the bridge, anew if a control plane that has died left one.
func (s *slot) makeNetwork(ctx context.Context, nodes int) error {
	if err := s.removeNetwork(ctx); err != nil {
		return err
	}
	if err := s.addressesAreFree(); err != nil {
		return err
	}
	commands := []string{
		fmt.Sprintf("link add name %s address %s type bridge", s.bridge(), s.hardwareAddress()),
		fmt.Sprintf("address add %s/24 dev %s", s.gateway(), s.bridge()),
		fmt.Sprintf("address add %s/32 dev %s", s.serviceAddress(), s.bridge()),
	}
	for node := 1; node <= nodes; node++ {
		commands = append(commands, fmt.Sprintf("address add %s/32 dev %s", s.nodeAddress(node), s.bridge()))
	}
	commands = append(commands, fmt.Sprintf("link set %s up", s.bridge()))
	if err := ip(ctx, commands...); err != nil {
		return fmt.Errorf("bridge %s: %w", s.bridge(), err)
	}
	return s.apiServerPortIsFree()
}

// addressesAreFree refuses to hide a network that the machine is in already.
func (s *slot) addressesAreFree() error {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("addresses of this machine: %w", err)
	}
	for _, ours := range []string{s.podRange(), s.serviceRange()} {
		for _, address := range addresses {
			theirs, err := netip.ParsePrefix(address.String())
			if err == nil && theirs.Overlaps(netip.MustParsePrefix(ours)) {
				return fmt.Errorf("the lab's nodes want the addresses %s, and this machine is in %s already", ours, theirs)
			}
		}
	}
	return nil
}

func (s *slot) apiServerPortIsFree() error {
	listener, err := net.Listen("tcp", net.JoinHostPort(s.serviceAddress(), strconv.Itoa(kubernetesServicePort)))
	if err != nil {
		return fmt.Errorf("the API server of a control plane with nodes needs port %d of %s (does a program of this machine listen on that port of all addresses?): %w",
			kubernetesServicePort, s.serviceAddress(), err)
	}
	return listener.Close()
}

// removeNetwork removes the bridge and the ends of Pods' links that are in it. Whoever calls it holds the slot.
func (s *slot) removeNetwork(ctx context.Context) error {
	folder := filepath.Join("/sys/class/net", s.bridge())
	if found, err := exists(folder); !found || err != nil {
		return err
	}
	ports, err := os.ReadDir(filepath.Join(folder, "brif"))
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("links of %s: %w", s.bridge(), err)
	}
	for _, port := range ports {
		// The kernel removes it as well, some time after the Pod's network namespace has gone.
		err := ip(ctx, "link delete "+port.Name())
		if still, _ := exists(filepath.Join("/sys/class/net", port.Name())); err != nil && still {
			return fmt.Errorf("link %s of %s: %w", port.Name(), s.bridge(), err)
		}
	}
	if err := ip(ctx, "link delete "+s.bridge()); err != nil {
		return fmt.Errorf("bridge %s: %w", s.bridge(), err)
	}
	return nil
}

// ip runs commands of ip(8), one after the other until one fails.
func ip(ctx context.Context, commands ...string) error {
	batch := exec.CommandContext(ctx, "ip", "-batch", "-")
	batch.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	output, err := batch.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
