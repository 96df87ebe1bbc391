package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func itoa(n int) string { return strconv.Itoa(n) }

// toyRoot is a repository whose etcd and Kubernetes are a few lines each.
func toyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write := func(path, content string) {
		path = filepath.Join(root, "e2e", "kube", path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("etcd/go.mod", "module toy/etcd\n\ngo 1.26.0\n")
	write("etcd/go.sum", "")
	write("etcd/main.go", "package main\n\nfunc main() {}\n")
	write("1.99/go.mod", "module toy/kube\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.99.7\n\nreplace k8s.io/kubernetes => ./kubernetes\n")
	write("1.99/go.sum", "")
	write("1.99/main.go", "package main\n\nimport _ \"k8s.io/kubernetes\"\n\nfunc main() {}\n")
	write("1.99/kubernetes/go.mod", "module k8s.io/kubernetes\n\ngo 1.26.0\n")
	write("1.99/kubernetes/doc.go", "package kubernetes\n")
	return root
}

func TestBuildOnlyWhenTheModuleChanged(t *testing.T) {
	root := toyRoot(t)
	build := func() (string, error) {
		var out strings.Builder
		_, err := Build(t.Context(), root, "1.99", &out)
		return out.String(), err
	}
	built, err := Built(root, "1.99")
	require.NoError(t, err)
	require.False(t, built)

	out, err := build()
	require.NoError(t, err)
	require.Contains(t, out, "building etcd")
	require.Contains(t, out, "building kube-1.99 from its Go modules; the first build takes 8 to 14 minutes")
	built, err = Built(root, "1.99")
	require.NoError(t, err)
	require.True(t, built)

	out, err = build()
	require.NoError(t, err)
	require.Empty(t, out, "nothing changed, nothing to do or to say")

	main := filepath.Join(root, "e2e", "kube", "1.99", "main.go")
	require.NoError(t, os.WriteFile(main, []byte("package main\n\nfunc main() { broken }\n"), 0o644))
	_, err = build()
	require.ErrorContains(t, err, "undefined: broken")
	require.FileExists(t, filepath.Join(root, ".lab", "bin", "kube-1.99"), "what was built before stays")

	require.NoError(t, os.WriteFile(main, []byte("package main\n\nfunc main() { println() }\n"), 0o644))
	out, err = build()
	require.NoError(t, err)
	require.NotContains(t, out, "etcd")
	require.Contains(t, out, "built kube-1.99")
}

func TestVersionIsStampedFromTheModule(t *testing.T) {
	m := module{dir: filepath.Join(toyRoot(t), "e2e", "kube", "1.99"), target: "kube-1.99", kubernetes: true}
	flags, err := m.ldflags(t.Context())
	require.NoError(t, err)
	require.Equal(t, "-s -w -X k8s.io/component-base/version.gitVersion=v1.99.7"+
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=99", flags)
}

func TestUnknownLineIsRefusedWithTheKnownOnes(t *testing.T) {
	_, err := Build(t.Context(), toyRoot(t), "1.12", os.Stderr)
	require.ErrorContains(t, err, `"1.12"`)
	require.ErrorContains(t, err, "1.99")
}

func TestNamesAreDNSLabels(t *testing.T) {
	for _, name := range []string{"", "Hub", "a/b", "..", "bin", "failed", strings.Repeat("a", 64)} {
		_, err := Options{Name: name, Root: "/"}.complete()
		require.Error(t, err, name)
	}
	_, err := Options{Name: "edge-1", Root: "/"}.complete()
	require.NoError(t, err)
}

func TestSlotsAreExclusiveAndPreferredOnesComeBack(t *testing.T) {
	first, err := takeSlot(-1)
	require.NoError(t, err)
	second, err := takeSlot(first.number)
	require.NoError(t, err)
	require.NotEqual(t, first.number, second.number)
	require.NotEqual(t, first.serviceRange(), second.serviceRange())
	wanted := second.number
	second.release()
	again, err := takeSlot(wanted)
	require.NoError(t, err)
	require.Equal(t, wanted, again.number)
	again.release()
	first.release()
}
