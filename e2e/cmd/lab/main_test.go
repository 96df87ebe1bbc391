package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// run runs the command as scripts/lab would, without ending the test's process.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	app := newApp()
	app.Writer, app.ErrWriter = &out, &out
	app.ExitErrHandler = func(*cli.Context, error) {}
	err := app.RunContext(t.Context(), append([]string{"lab", "--state-dir", t.TempDir()}, args...))
	return out.String(), err
}

func TestWhatIsNotThereYetSaysSo(t *testing.T) {
	for _, args := range [][]string{
		{"up", "--nodes", "hub"},
		{"up", "--nodes=2", "hub"},
		{"up", "--processes", "hub"},
		{"up"},
	} {
		_, err := run(t, args...)
		var coded cli.ExitCoder
		require.ErrorAs(t, err, &coded, "%v", args)
		require.Equal(t, 2, coded.ExitCode(), "%v", args)
		require.NotEmpty(t, err.Error())
	}
}

func TestUnknownLinesAndNamesAreErrors(t *testing.T) {
	_, err := run(t, "up", "--version", "1.12", "hub")
	require.ErrorContains(t, err, `no Kubernetes line "1.12"`)
	_, err = run(t, "down", "nobody")
	require.ErrorContains(t, err, `no control plane "nobody"`)
}

func TestEmptyLabIsNoError(t *testing.T) {
	out, err := run(t, "status")
	require.NoError(t, err)
	require.Equal(t, "NAME  KUBERNETES  URL  STATE  STARTED BY\n", out)
	out, err = run(t, "down")
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestPathsAreShownFromTheWorkingDirectory(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(".lab", "hub"), shortPath(filepath.Join(dir, ".lab", "hub")))
	require.Equal(t, "/elsewhere/kubeconfig", shortPath("/elsewhere/kubeconfig"))
}
