package ready

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rancher/fleet/pkg/registration"
)

// Names of the files. They lie in the directory for temporary files, which in a pod is an emptyDir: it outlives a
// container, and ends with the pod.
const (
	latchFile = "fleet-agent-ready"
	waitsFile = "fleet-agent-waits"
)

// maxWhy is how much is kept of why a pod is not ready.
const maxWhy = 256

// Latch is set once and stays set.
type Latch struct{ dir string }

// At is the latch that lies in a directory.
func At(dir string) *Latch { return &Latch{dir: dir} }

// IsSet says whether the latch was set, by this process or by one before it in the same pod.
func (l *Latch) IsSet() bool {
	_, err := os.Lstat(filepath.Join(l.dir, latchFile))
	return err == nil
}

// Set sets the latch for good.
func (l *Latch) Set() error {
	if l.IsSet() {
		return nil
	}
	if err := write(l.dir, latchFile, ""); err != nil {
		return fmt.Errorf("this pod is ready and cannot say so: %w", err)
	}
	_ = os.Remove(filepath.Join(l.dir, waitsFile)) // nobody reads it any more
	return nil
}

// Waits notes why the latch is not set yet.
func (l *Latch) Waits(why string) error {
	return write(l.dir, waitsFile, registration.Printable(why, maxWhy))
}

// Check is nil once the latch is set; until then it says what that waits for.
func (l *Latch) Check() error {
	if l.IsSet() {
		return nil
	}
	why, err := os.ReadFile(filepath.Join(l.dir, waitsFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the agent starts")
	case err != nil:
		return err
	}
	return errors.New(registration.Printable(string(why), maxWhy))
}

// write puts a whole file there, or none: it may be read at any moment.
func write(dir, name, content string) error {
	file, err := os.CreateTemp(dir, name+"-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}
