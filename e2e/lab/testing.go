package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Option changes the options of a test's control plane.
type Option func(*Options)

// WithVersion picks a Kubernetes line.
func WithVersion(version string) Option { return func(o *Options) { o.Version = version } }

// WithAudit turns the audit log on, for Requests.
func WithAudit() Option { return func(o *Options) { o.Audit = true } }

// WithAPIServerArgs adds flags to the API server.
func WithAPIServerArgs(args ...string) Option {
	return func(o *Options) { o.APIServerArgs = append(o.APIServerArgs, args...) }
}

// WithNodes gives the control plane real nodes. The test calls NeedNodes before.
func WithNodes(count int) Option { return func(o *Options) { o.Nodes = count } }

// WithoutControllerManager leaves the controller manager out until StartControllerManager.
func WithoutControllerManager() Option {
	return func(o *Options) { o.WithoutControllerManager = true }
}

// New starts a control plane for one test and removes it with the test. If the test fails, the logs are kept below
// .lab/failed.
func New(t testing.TB, options ...Option) *ControlPlane {
	t.Helper()
	c, err := startForTest(t.Context(), "", options)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs of control plane %s: %s", c.Name, keepLogs(c, t.Name()))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Remove(ctx); err != nil {
			t.Errorf("%v", err)
		}
	})
	return c
}

// shared are the control planes that the tests of a package have in common.
var shared struct {
	sync.Mutex
	managed bool
	planes  map[string]*sharedPlane
}

type sharedPlane struct {
	start sync.Once
	plane *ControlPlane
	err   error
}

// Main runs a package's tests and removes what they shared; for TestMain: os.Exit(lab.Main(m)).
func Main(m *testing.M) int {
	shared.Lock()
	shared.managed, shared.planes = true, map[string]*sharedPlane{}
	shared.Unlock()
	code := m.Run()

	shared.Lock()
	defer shared.Unlock()
	var removals sync.WaitGroup
	var failed atomic.Bool
	for name, s := range shared.planes {
		if s.plane == nil {
			continue
		}
		removals.Go(func() {
			if code != 0 {
				fmt.Fprintf(os.Stderr, "logs of the shared control plane %s: %s\n", name, keepLogs(s.plane, "shared"))
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := s.plane.Remove(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
				failed.Store(true)
			}
		})
	}
	removals.Wait()
	if failed.Load() {
		code = max(code, 1)
	}
	return code
}

// Shared is the control plane of this name that all tests of the package use; the first one starts it, and its options
// count. Tests keep to namespaces of their own. The package's TestMain must call Main.
func Shared(t testing.TB, name string, options ...Option) *ControlPlane {
	t.Helper()
	shared.Lock()
	if !shared.managed {
		shared.Unlock()
		t.Fatalf("lab.Shared needs a TestMain with os.Exit(lab.Main(m)): nothing would remove control plane %s", name)
	}
	s := shared.planes[name]
	if s == nil {
		s = &sharedPlane{}
		shared.planes[name] = s
	}
	shared.Unlock()
	s.start.Do(func() { s.plane, s.err = startForTest(t.Context(), name, options) })
	if s.err != nil {
		t.Fatalf("%v", s.err)
	}
	return s.plane
}

// startForTest makes a folder that no other test has, also not one of a run that was killed.
func startForTest(ctx context.Context, name string, options []Option) (*ControlPlane, error) {
	root, err := FindRoot()
	if err != nil {
		return nil, err
	}
	stateDir := DefaultStateDir(root)
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	pattern := testPrefix
	if name != "" {
		pattern += name + "-"
	}
	dir, err := os.MkdirTemp(stateDir, pattern)
	if err != nil {
		return nil, fmt.Errorf("folder of a test's control plane: %w", err)
	}
	o := Options{Name: filepath.Base(dir), Root: root, StateDir: stateDir, StartedBy: ByTest}
	for _, option := range options {
		option(&o)
	}
	c, err := Up(ctx, o)
	if err != nil {
		os.RemoveAll(dir) // the error shows the end of the log
	}
	return c, err
}

// testPrefix begins the names of tests' control planes.
const testPrefix = "test-"

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// keepLogs moves the logs of a control plane out of the folder that is about to be removed and says where they are.
func keepLogs(c *ControlPlane, test string) string {
	name := strings.Trim(notInFileNames.ReplaceAllString(test, "-"), "-") + "-" + c.Name
	target := filepath.Join(filepath.Dir(c.Dir), failedFolder, name)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Sprintf("not kept: %v", err)
	}
	for _, file := range []string{folderLogs, fileAuditLog} {
		// Renaming leaves the descriptors of running processes valid.
		if err := os.Rename(c.path(file), filepath.Join(target, file)); err != nil && !os.IsNotExist(err) {
			return fmt.Sprintf("not kept: %v", err)
		}
	}
	return target
}
