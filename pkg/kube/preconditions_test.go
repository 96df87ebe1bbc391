package kube

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestADeletionOfWhatIsGoneIsDone(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	conflict := func(text string) error { return apierrors.NewConflict(secrets, "a", errors.New(text)) }
	for name, test := range map[string]struct {
		err  error
		done bool
	}{
		"deleted":           {nil, true},
		"gone":              {apierrors.NewNotFound(secrets, "a"), true},
		"made anew":         {conflict("Precondition failed: UID in precondition: 1, UID in object meta: 2"), true},
		"made anew, told":   {fmt.Errorf("a: %w", conflict("Precondition failed: UID in precondition: 1, UID in object meta: 2")), true},
		"changed":           {conflict("Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: 2"), false},
		"another conflict":  {conflict("the object is being looked at"), false},
		"not allowed":       {apierrors.NewForbidden(secrets, "a", errors.New("UID in precondition: 1")), false},
		"the network":       {errors.New("connection refused"), false},
		"exists (also 409)": {apierrors.NewAlreadyExists(secrets, "UID in precondition: "), false},
	} {
		if got := Deleted(test.err); test.done {
			assert.NoError(t, got, name)
		} else {
			assert.Equal(t, test.err, got, name)
		}
	}
}

// Whoever deletes by UID alone lets Deleted judge the answer, or a cache that lags is an error at each look. With a
// resource version a conflict says more, and the caller has to know what.
func TestEachDeletionByUIDIsJudged(t *testing.T) {
	var judged int
	for _, root := range []string{"../controllers", "../agent"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			var parents []ast.Node
			ast.Inspect(file, func(n ast.Node) bool {
				if n == nil {
					parents = parents[:len(parents)-1]
					return true
				}
				parents = append(parents, n)
				if call, ok := n.(*ast.CallExpr); ok && called(call) == "ByUID" {
					around := callsAround(parents[:len(parents)-1])
					if len(around) > 0 && around[0] == "Delete" {
						judged++
						assert.True(t, isJudged(around, path), "%s: kube.Deleted has to judge this deletion", files.Position(call.Pos()))
					}
				}
				return true
			})
			return nil
		}))
	}
	assert.Greater(t, judged, 9, "deletions were found")
}

// isJudged says whether the call around a deletion knows what its errors mean. Where a token ends, the log tells a
// deletion from one that found nothing.
func isJudged(around []string, path string) bool {
	if len(around) == 1 {
		return strings.HasSuffix(path, "clusterregistrationtoken/apply.go")
	}
	return around[1] == "Deleted" || around[1] == "removed"
}

func called(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		return fun.Sel.Name
	case *ast.Ident:
		return fun.Name
	}
	return ""
}

// callsAround are the calls that a node is an argument of, the nearest first.
func callsAround(parents []ast.Node) (names []string) {
	for i := len(parents) - 1; i >= 0; i-- {
		call, ok := parents[i].(*ast.CallExpr)
		if !ok {
			break
		}
		names = append(names, called(call))
	}
	return names
}
