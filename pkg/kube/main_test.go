package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
)

// deadlineFor is several times what any wait in these tests takes.
const deadlineFor = 20 * time.Second

// publicCA is a CA that the system's store of this process holds.
var publicCA *authority

func TestMain(m *testing.M) {
	logrus.SetLevel(logrus.ErrorLevel)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	dir, err := useSystemStore()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// useSystemStore has to come before anything that reads the system's roots, which Go does once in a process.
func useSystemStore() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "roots"); err != nil {
		return "", err
	}
	if publicCA, err = newAuthority("public"); err != nil {
		return dir, err
	}
	file := filepath.Join(dir, "roots.pem")
	return dir, errors.Join(
		os.WriteFile(file, publicCA.pem, 0o600),
		os.Setenv("SSL_CERT_FILE", file),
		os.Setenv("SSL_CERT_DIR", filepath.Join(dir, "none")),
	)
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadlineFor)
	t.Cleanup(cancel)
	return ctx
}

// quiet keeps what a test provokes out of its output.
func quiet(t *testing.T) {
	t.Helper()
	logrus.SetOutput(io.Discard)
	t.Cleanup(func() { logrus.SetOutput(os.Stderr) })
}

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(deadlineFor):
		require.FailNow(t, "waited in vain for "+what)
		panic("unreachable")
	}
}
