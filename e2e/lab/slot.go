package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

const (
	slots = 64
	// firstPort and what follows lie below the kernel's ephemeral range (32768 and up): no client's outgoing connection
	// can take a port while its server is restarted.
	firstPort    = 21000
	portsPerSlot = 16
)

// The ports of a slot. The rest is for nodes.
const (
	portAPIServer = iota
	portEtcd
	portEtcdPeer
	portControllerManager
	portScheduler
	portKubelet // of the nodes' own addresses
	portsInUse
)

// slot is a number that one control plane of this machine has to itself: its ports and its service range follow from it.
//
// It is held by an abstract Unix socket, which the kernel gives to one holder and takes back when the last process that
// has it open ends. etcd and the nodes inherit it, so the slot of a detached control plane stays taken.
type slot struct {
	number int
	lock   *os.File
}

// takeSlot takes the preferred slot if it is free (a restart keeps its address), any other otherwise.
func takeSlot(preferred int) (*slot, error) {
	var last error
	for i := range slots {
		s, err := trySlot((max(preferred, 0) + i) % slots)
		if err == nil {
			return s, nil
		}
		last = err
	}
	return nil, fmt.Errorf("all %d places for control planes on this machine are taken (scripts/lab down ends those of this checkout): %w", slots, last)
}

func trySlot(number int) (*slot, error) {
	s, err := lockSlot(number)
	if err != nil {
		return nil, err
	}
	for i := range portsInUse {
		if err := portIsFree(s.port(i)); err != nil {
			s.release()
			return nil, err
		}
	}
	return s, nil
}

// lockSlot takes a slot whatever its ports are used for; syscall.EADDRINUSE says that another has it.
func lockSlot(number int) (*slot, error) {
	name := "@fleet-lab-slot-" + strconv.Itoa(number)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	lock, err := listener.File()
	listener.Close() // lock is a duplicate and holds on
	if err != nil {
		return nil, fmt.Errorf("slot %d: %w", number, err)
	}
	return &slot{number: number, lock: lock}, nil
}

func portIsFree(port int) error {
	listener, err := net.Listen("tcp", address(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is used by another program", port)
	}
	if err != nil {
		return fmt.Errorf("port %d: %w", port, err)
	}
	return listener.Close()
}

func (s *slot) port(i int) int { return firstPort + s.number*portsPerSlot + i }

// serviceRange differs between the control planes of a machine, so that routes to services can live side by side.
func (s *slot) serviceRange() string { return fmt.Sprintf("10.%d.0.0/16", 128+s.number) }

// url is the API server's address: with nodes the one that Pods have, too.
func (s *slot) url(nodes int) string {
	if nodes == 0 {
		return "https://" + address(s.port(portAPIServer))
	}
	return "https://" + net.JoinHostPort(s.serviceAddress(), strconv.Itoa(kubernetesServicePort))
}

// files are what a process inherits that is to keep the slot taken when we are gone.
func (s *slot) files() []*os.File {
	if s.lock == nil {
		return nil
	}
	return []*os.File{s.lock}
}

func (s *slot) release() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
