package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/rancher/fleet"

// short writes a package of this module, and of the module of its API types, as ~/….
func short(importPath string) string {
	if rest, ok := strings.CutPrefix(importPath, module); ok && (rest == "" || rest[0] == '/') {
		return "~" + rest
	}
	return importPath
}

type listed struct {
	ImportPath, Dir  string
	GoFiles, Imports []string
}

// packages lists this module with the go command. Files of tests are not looked at.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	list.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, stderr.String())
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// uses are the imports of a package and the symbols that it names of them.
func (p listed) uses(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for _, imported := range p.Imports {
		found[short(imported)] = true
	}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for symbol := range symbols(t, file) {
			found[symbol] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func symbols(t *testing.T, file *ast.File) map[string]bool {
	t.Helper()
	paths := map[string]string{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		paths[name] = short(imported)
	}
	found := map[string]bool{}
	add := func(node ast.Expr, suffix string) {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok && paths[pkg.Name] != "" {
				found[paths[pkg.Name]+"."+selector.Sel.Name+suffix] = true
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			add(n, "")
		case *ast.CompositeLit:
			add(n.Type, "{}")
		}
		return true
	})
	return found
}

func TestPackagesKeepTheTable(t *testing.T) {
	all := packages(t)
	var names []string
	for _, p := range all {
		name, uses := short(p.ImportPath), p.uses(t)
		names = append(names, name)
		for _, r := range rules {
			for _, sentence := range r.broken(name, uses) {
				t.Errorf("%s (rule %q)", sentence, r.name)
			}
		}
	}
	// An empty list would keep every rule.
	assert.Subset(t, names, []string{"~", "~/pkg/names", "~/pkg/kube", "~/pkg/controllers/cluster", "~/pkg/agent/register", "~/pkg/cli"})
}

// Symbols are what the rules on connections and clocks rest on.
func TestSymbolsAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import ("time"; r "k8s.io/client-go/rest"; "k8s.io/client-go/tools/clientcmd"; "github.com/rancher/fleet/pkg/kube")
var _ = []any{&r.Config{}, time.Now, clientcmd.Write, kube.Hub{}}
func f(c *r.Config) { var time2 struct{ Now int }; _ = time2.Now; _, _ = r.InClusterConfig() }`, 0)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"k8s.io/client-go/rest.Config", "k8s.io/client-go/rest.Config{}", "k8s.io/client-go/rest.InClusterConfig",
		"k8s.io/client-go/tools/clientcmd.Write", "time.Now", "~/pkg/kube.Hub", "~/pkg/kube.Hub{}",
	}, slices.Sorted(maps.Keys(symbols(t, file))))
}

// Every rule is broken by some package that is made up here, and by those alone that should break it.
func TestRulesAreBroken(t *testing.T) {
	seen := map[string]bool{}
	for _, test := range []struct {
		pkg, use string
		rules    []string
	}{
		{"~/pkg/names", "github.com/rancher/wrangler/v3/pkg/name", nil},
		{"~/pkg/names", "encoding/json", nil},
		{"~/pkg/target", "~/pkg/names", nil},
		{"~/pkg/target", "~/pkg/apis/fleet.cattle.io/v1alpha1", nil},
		{"~/pkg/target", "k8s.io/apimachinery/pkg/labels", nil},
		{"~/pkg/target", "time.Duration", nil},
		{"~/pkg/target", "~/pkg/kube", []string{"pure packages"}},
		{"~/pkg/target", "~/pkg/generated/controllers/fleet.cattle.io", []string{"pure packages"}},
		{"~/pkg/target", "k8s.io/client-go/kubernetes", []string{"pure imports"}},
		{"~/pkg/target", "github.com/rancher/wrangler/v3/pkg/apply", []string{"pure imports"}},
		{"~/pkg/target", "github.com/sirupsen/logrus", []string{"pure imports"}},
		{"~/pkg/target", "os", []string{"pure inputs"}},
		{"~/pkg/target", "time.Now", []string{"pure inputs"}},
		{"~/pkg/kube", "k8s.io/client-go/rest.Config{}", nil},
		{"~/pkg/desired", "~/pkg/kube", nil},
		{"~/pkg/desired", "~/pkg/helmdeployer", []string{"base"}},
		{"~/pkg/kube", "~/pkg/controllers/cluster", []string{"base"}},
		{"~/pkg/helmdeployer", "~/pkg/agent/drift", []string{"base"}},
		{"~/pkg/helmdeployer", "~/pkg/helmdeployer/release", nil},
		{"~/pkg/preflight", "~/pkg/kube", nil},
		{"~/pkg/preflight", "net/http", nil},
		{"~/pkg/preflight", "~/pkg/controllers/clusterimport", []string{"preflight"}},
		{"~/pkg/helmdeployer", "helm.sh/helm/v3/pkg/action", nil},
		{"~/pkg/controllers/cluster", "~/pkg/desired", nil},
		{"~/pkg/controllers/cluster", "~/pkg/controllers/cluster/plan", nil},
		{"~/pkg/controllers/cluster", "~/pkg/controllers/clusterimport", []string{"one controller"}},
		{"~/pkg/controllers/cluster", "~/pkg/controllers", []string{"one controller", "wiring"}},
		{"~/pkg/controllers/cluster", "~/pkg/agent/register", []string{"controllers"}},
		{"~/pkg/controllers/cluster", "~/pkg/helmdeployer", []string{"controllers"}},
		{"~/pkg/controllers/cluster", "helm.sh/helm/v3/pkg/action", []string{"helm"}},
		{"~/pkg/controllers", "~/pkg/controllers/cluster", nil},
		{"~/pkg/controllers", "~/pkg/agent", []string{"controllers", "wiring"}},
		{"~/pkg/agent/register", "~/pkg/helmdeployer", nil},
		{"~/pkg/agent/register", "~/pkg/agent/hub", nil},
		{"~/pkg/agent/register", "~/pkg/controllers/cluster", []string{"agent"}},
		{"~/pkg/agent/register", "github.com/urfave/cli/v2", []string{"flags"}},
		{"~/pkg/agent/register", "~/pkg/cli", []string{"agent", "command"}},
		{"~/pkg/agent/register", "k8s.io/client-go/rest.Config{}", []string{"connections"}},
		{"~/pkg/agent/register", "k8s.io/client-go/rest.InClusterConfig", []string{"connections"}},
		{"~/pkg/agent/register", "k8s.io/client-go/rest.Config", nil},
		{"~/pkg/agent/register", "k8s.io/client-go/tools/clientcmd.RESTConfigFromKubeConfig", []string{"connections"}},
		{"~/pkg/agent/register", "k8s.io/client-go/tools/clientcmd.Write", nil},
		{"~/pkg/agent/register", "github.com/rancher/lasso/pkg/controller.NewSharedControllerFactory", []string{"connections"}},
		{"~/pkg/controllers", "github.com/rancher/wrangler/v3/pkg/apply.NewForConfig", []string{"connections"}},
		{"~/pkg/controllers", "github.com/rancher/wrangler/v3/pkg/apply.Apply", nil},
		{"~/pkg/kube", "crypto/x509.NewCertPool", nil},
		{"~/pkg/kube", "crypto/x509.CreateCertificate", []string{"certificates"}},
		{"~/pkg/agent/register", "os/exec", []string{"programs"}},
		{"~/pkg/helmdeployer/fetch", "github.com/go-git/go-git/v5", []string{"programs"}},
		{"~/pkg/kube", "net/http.Server{}", nil},
		{"~/pkg/controllers", "net/http.Client{}", nil},
		{"~/pkg/controllers", "net/http.Server{}", []string{"servers"}},
		{"~/pkg/controllers", "sigs.k8s.io/controller-runtime/pkg/webhook", []string{"servers"}},
		{"~/pkg/agent/register", "~/pkg/kube/kubetest", []string{"test helpers"}},
		{"~/pkg/agent/internal/hubtest", "~/pkg/agent/internal/apitest", nil},
		{"~/pkg/cli", "~/pkg/controllers", nil},
		{"~/pkg/cli", "github.com/urfave/cli/v2", nil},
		{"~/pkg/cli", "~/pkg/codegen", []string{"generator"}},
		{"~", "~/pkg/cli", nil},
		{"~", "~/pkg/agent", []string{"wiring"}},
	} {
		var broken []string
		for _, r := range rules {
			if len(r.broken(test.pkg, []string{"fmt", test.use})) > 0 {
				broken = append(broken, r.name)
				seen[r.name] = true
			}
		}
		assert.ElementsMatch(t, test.rules, broken, "%s uses %s", test.pkg, test.use)
	}
	for _, r := range rules {
		assert.True(t, seen[r.name], "no package breaks rule %q", r.name)
	}
}
