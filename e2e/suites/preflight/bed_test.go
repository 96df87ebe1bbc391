package preflight_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
)

// newBed is a hub with its controller and without a local cluster.
func newBed(t *testing.T) *stage.Stage {
	t.Helper()
	s, err := stage.NewForSuite(lab.New(t))
	require.NoError(t, err)
	s.EndWithTest(t)
	require.NoError(t, s.InstallHub(t.Context(), map[string]any{"bootstrap": map[string]any{"enabled": false}}))
	_, err = s.StartController(t.Context())
	require.NoError(t, err)
	return s
}

// report is what the command says in JSON.
type report struct {
	Input   string  `json:"input"`
	Address string  `json:"address"`
	Checks  []check `json:"checks"`
	code    int
}

type check struct{ Name, Result, Found, Remedy string }

// of is a check of the report.
func (r report) of(t *testing.T, name string) check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	require.Failf(t, "there is no such check", "%s in %+v", name, r)
	return check{}
}

// ended are the checks of a report that ended in a way.
func (r report) ended(result string) (names []string) {
	for _, c := range r.Checks {
		if c.Result == result {
			names = append(names, c.Name)
		}
	}
	return names
}

// checked runs the command on a document.
func checked(t *testing.T, s *stage.Stage, document []byte, flags ...string) report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "document")
	require.NoError(t, os.WriteFile(file, document, 0o600))
	command := exec.CommandContext(until(t), s.Binary(), append([]string{"cluster", "check", "-o", "json", file}, flags...)...)
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	r := report{code: command.ProcessState.ExitCode()}
	require.NoError(t, json.Unmarshal(out.Bytes(), &r), "%s\n%s", out.String(), errOut.String())
	require.Equal(t, len(r.ended("failed")) > 0, r.code == 1, "%d: %+v", r.code, r)
	return r
}

// bytesOf is a kubeconfig as a file.
func bytesOf(t *testing.T, k lab.Kubeconfig) []byte {
	t.Helper()
	document, err := k.Bytes()
	require.NoError(t, err)
	return document
}

// admin is a kubeconfig with all rights.
func admin(t *testing.T, s *stage.Stage) lab.Kubeconfig {
	t.Helper()
	token, err := s.Hub.AdminToken()
	require.NoError(t, err)
	return lab.Kubeconfig{Name: "admin", Server: s.Hub.URL, CA: s.Hub.CA(), Token: token}
}

func asYAML(t *testing.T, values map[string]any) []byte {
	t.Helper()
	document, err := yaml.Marshal(values)
	require.NoError(t, err)
	return document
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
