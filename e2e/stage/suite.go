package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rancher/fleet/e2e/lab"
)

// suite is what Main has prepared for the tests of a package.
var suite struct{ root, program string }

// Main runs a suite: the tests of a package, on control planes that they share (lab.Shared), with a copy of the product
// that scripts/build has made, so that a build during the run does not mix two versions. For TestMain:
// os.Exit(stage.Main(m)).
func Main(m *testing.M) int {
	folder, err := os.MkdirTemp("", "fleet-suite-")
	if err == nil {
		defer os.RemoveAll(folder)
		err = takeProduct(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return lab.Main(m)
}

func takeProduct(folder string) error {
	root, err := lab.FindRoot()
	if err != nil {
		return err
	}
	program := filepath.Join(folder, "fleet")
	if err := CopyProgram(builtProgram(root), program); err != nil {
		return err
	}
	suite.root, suite.program = root, program
	return nil
}

// CopyProgram copies the product to a file that can be run.
func CopyProgram(from, to string) error {
	source, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the product is not built, run scripts/build first: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the product: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copy of the product: %w", err)
	}
	if _, err := io.Copy(target, source); err != nil {
		target.Close()
		return fmt.Errorf("copy of the product: %w", err)
	}
	if err := target.Close(); err != nil {
		return fmt.Errorf("copy of the product: %w", err)
	}
	return nil
}

// NewForSuite is a stage on a control plane, with the product that Main has copied.
func NewForSuite(plane *lab.ControlPlane) (*Stage, error) {
	if suite.program == "" {
		return nil, errors.New("a stage of a suite needs a TestMain with os.Exit(stage.Main(m)): there is no copy of the product")
	}
	s, err := New(suite.root, plane)
	if err != nil {
		return nil, err
	}
	s.Program = suite.program
	return s, nil
}

// Election is the environment of processes that elect their leader faster, or with more patience, than the product does by
// itself. What waits for the end of a lease waits for its duration; what follows a leader that ended in order, for a retry.
func Election(lease, renew, retry time.Duration) []string {
	return []string{
		"CATTLE_ELECTION_LEASE_DURATION=" + lease.String(),
		"CATTLE_ELECTION_RENEW_DEADLINE=" + renew.String(),
		"CATTLE_ELECTION_RETRY_PERIOD=" + retry.String(),
	}
}
