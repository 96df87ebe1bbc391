package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/proc"
)

// ControlPlane is one running cluster, with nodes only if they were asked for. Its methods may be called from several goroutines.
type ControlPlane struct {
	Name string
	// Dir holds everything that the control plane writes.
	Dir string
	// URL is the API server's address; it stays over restarts.
	URL string

	mu        sync.Mutex
	state     state
	slot      *slot
	ca        []byte
	processes map[string]*proc.Process
}

// Up builds what is missing, starts a control plane and returns when it is ready for use. A folder that was used before is
// taken up again with its data, authority and, if free, its address; what already runs (detached) is returned as it is.
// ctx bounds the wait only.
func Up(ctx context.Context, options Options) (*ControlPlane, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	binaries, err := Build(ctx, options.Root, options.Version, options.Out)
	if err != nil {
		return nil, err
	}
	if options.Nodes > 0 {
		if err := buildNodeParts(ctx, options.Root, options.Out, &binaries); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(options.StateDir, options.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of %s: %w", options.Name, err)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	c, running, err := prepare(ctx, dir, options, binaries)
	if err != nil {
		_ = os.Remove(dir) // only if nothing is in it
		return nil, err
	}
	if running {
		return c, nil
	}
	if err := c.startAll(ctx, !options.WithoutControllerManager); err != nil {
		// What was started must not outlive a failed start, whatever ended the wait.
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// prepare makes a control plane ready to be started, or returns the one that runs.
func prepare(ctx context.Context, dir string, options Options, binaries Binaries) (c *ControlPlane, running bool, err error) {
	previous := -1
	old, err := readState(dir)
	switch {
	case err == nil && old.Version != options.Version:
		return nil, false, fmt.Errorf("%s exists with Kubernetes %s, not %s: take it down first (scripts/lab down %s)", old.Name, old.Version, options.Version, old.Name)
	case err == nil && len(old.running(dir)) == old.components() && len(old.Pods) >= len(options.Pods) && old.Nodes >= options.Nodes:
		c, err := Open(dir)
		return c, true, err
	case err == nil:
		previous = old.Slot
		if err := endProcesses(ctx, dir, old); err != nil {
			return nil, false, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	s, err := takeSlot(previous)
	if err != nil {
		return nil, false, err
	}
	c = &ControlPlane{
		Name: options.Name, Dir: dir, URL: s.url(options.Nodes),
		slot: s, processes: map[string]*proc.Process{},
		state: state{
			Name: options.Name, Version: options.Version, Slot: s.number, Detached: options.Detached, Audit: options.Audit,
			StartedBy: options.StartedBy, Created: time.Now().UTC(), Binaries: binaries, Processes: map[string]proc.Identity{},
			APIServerArgs: options.APIServerArgs, ControllerManagerArgs: options.ControllerManagerArgs,
			Pods: options.Pods, Nodes: options.Nodes,
		},
	}
	c.state.URL = c.URL
	if err := c.prepareFolder(); err != nil {
		s.release()
		return nil, false, err
	}
	return c, false, nil
}

// prepareFolder writes what the components read. The record comes first: with it Down can end whatever follows.
func (c *ControlPlane) prepareFolder() error {
	if err := c.state.write(c.Dir); err != nil {
		return err
	}
	if err := c.setLogsAside(); err != nil {
		return err
	}
	if c.state.Nodes > 0 {
		// The slot, and the address in the certificate with it, may be another than before.
		if err := os.Remove(c.path(fileServing + pairCert)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("certificate of %s: %w", c.Name, err)
		}
	}
	return c.writeSecrets()
}

// setLogsAside lets each start begin with empty logs: their ends explain failures, and must be of this start. Those of the
// start before are kept.
func (c *ControlPlane) setLogsAside() error {
	if err := os.RemoveAll(c.path(folderOldLogs)); err != nil {
		return fmt.Errorf("old logs of %s: %w", c.Name, err)
	}
	if err := os.Rename(c.path(folderLogs), c.path(folderOldLogs)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("old logs of %s: %w", c.Name, err)
	}
	return nil
}

// Open returns a control plane that an earlier process started detached.
func Open(dir string) (*ControlPlane, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of a control plane: %w", err)
	}
	s, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no control plane in %s: start one with scripts/lab up %s", dir, filepath.Base(dir))
	}
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{
		Name: s.Name, Dir: dir, URL: s.URL, state: s,
		slot: &slot{number: s.Slot}, processes: map[string]*proc.Process{},
	}
	pair, err := c.readPair(fileServingCA)
	c.ca = pair.Cert
	return c, err
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *ControlPlane) Kubeconfig() string { return c.path(fileKubeconfig) }

// CA is the authority of the API server's certificate, as PEM.
func (c *ControlPlane) CA() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ca)
}

// Version is the Kubernetes line.
func (c *ControlPlane) Version() string { return c.state.Version }

// AdminToken is a bearer token with all rights.
func (c *ControlPlane) AdminToken() (string, error) { return c.token(adminUser) }

// RESTConfig is a client configuration with all rights and no client-side rate limit.
func (c *ControlPlane) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", c.Name, err)
	}
	config.QPS = -1
	return config, nil
}

// ServiceAccountKubeconfig is the function of that name for this control plane's own address.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, account string, life time.Duration) (Kubeconfig, error) {
	admin, err := c.RESTConfig()
	if err != nil {
		return Kubeconfig{}, err
	}
	return ServiceAccountKubeconfig(ctx, admin, namespace, account, life, c.URL, c.CA())
}

// ClientCertKubeconfig makes a kubeconfig with a client certificate. It does not pass a shim that terminates TLS.
func (c *ControlPlane) ClientCertKubeconfig(user string, life time.Duration, groups ...string) (Kubeconfig, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clientCertKubeconfig(user, life, groups...)
}

func (c *ControlPlane) clientCertKubeconfig(user string, life time.Duration, groups ...string) (Kubeconfig, error) {
	pair, err := c.readPair(fileClientCA)
	if err != nil {
		return Kubeconfig{}, err
	}
	authority, err := certs.ParseAuthority(pair)
	if err != nil {
		return Kubeconfig{}, err
	}
	client, err := authority.Client(user, life, groups...)
	if err != nil {
		return Kubeconfig{}, err
	}
	return Kubeconfig{Name: user, Server: c.URL, CA: slices.Clone(c.ca), ClientCert: client.Cert, ClientKey: client.Key}, nil
}

// AuditLog is the path of the audit log, for control planes with Options.Audit.
func (c *ControlPlane) AuditLog() string { return c.path(fileAuditLog) }

// Requests counts what the audit log has recorded since the start.
func (c *ControlPlane) Requests() (count.Counts, error) {
	if !c.state.Audit {
		return nil, fmt.Errorf("%s was started without Options.Audit: nothing was counted", c.Name)
	}
	return count.ReadAuditLog(c.AuditLog())
}

// Log is the path of a component's log: etcd, kube-apiserver, kube-controller-manager, kube-scheduler or a node.
func (c *ControlPlane) Log(component string) string {
	return filepath.Join(c.Dir, folderLogs, component+".log")
}

// lockFolder keeps two commands from starting or ending one control plane at the same time.
func lockFolder(dir string) (unlock func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of a control plane: %w", err)
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		folder.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another command is starting or ending the control plane in %s: try again when it is done", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { folder.Close() }, nil
}
