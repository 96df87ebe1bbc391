package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// api is exported names: the fields of each type, the values of constants and variables, the methods and functions.
type api struct {
	fields map[string][]string
	values map[string]string
	funcs  map[string]bool
}

func newAPI() api {
	return api{fields: map[string][]string{}, values: map[string]string{}, funcs: map[string]bool{}}
}

func TestExportedNamesAreThoseThatOthersCompileAgainst(t *testing.T) {
	source := readSource(t)
	table := newAPI()
	table.read(t, "testdata/go-api.txt")
	table.read(t, "testdata/own-go-api.txt")
	if len(table.fields) < 80 || len(table.values) < 60 || len(table.funcs) < 5 {
		t.Fatalf("the tables were not read: %d types, %d values, %d functions", len(table.fields), len(table.values), len(table.funcs))
	}
	for name, want := range table.fields {
		got, exists := source.fields[name]
		if !exists {
			t.Errorf("type %s is missing", name)
		} else if !sameSet(want, got) {
			t.Errorf("type %s:\n  want %s\n  got  %s", name, strings.Join(want, "\n       "), strings.Join(got, "\n       "))
		}
	}
	for name := range source.fields {
		if _, known := table.fields[name]; !known {
			t.Errorf("type %s is exported and in neither table: what is exported is a promise", name)
		}
	}
	for name, want := range table.values {
		got, exists := source.values[name]
		if !exists {
			t.Errorf("%s is missing", name)
		} else if got != "" && got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for name := range table.funcs {
		if !source.funcs[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// read adds a table: indented lines are fields of the type above, "name | value" is a constant or a variable.
func (a api) read(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "    "):
			a.fields[name] = append(a.fields[name], normalize(strings.Split(line, "|")...))
		case strings.Contains(line, " | "):
			key, value, _ := strings.Cut(line, " | ")
			a.values[key] = value
		case strings.HasPrefix(line, "(") || strings.Contains(line, "("):
			receiver, rest, method := strings.Cut(line, ") ")
			if !method || !strings.HasPrefix(line, "(") {
				receiver, rest = "", line
			}
			function, _, _ := strings.Cut(rest, "(")
			a.funcs[strings.Trim(receiver, "(*")+"."+function] = true
		case strings.Contains(line, " = "):
			key, base, _ := strings.Cut(line, " = ")
			a.fields[key] = []string{base}
		default:
			// A type that stands in both tables has the fields of both.
			name = line
		}
	}
}

// normalize writes a field as "name | type | tag". On a struct, omitempty has no effect; the generated lists leave it out.
func normalize(parts ...string) string {
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	for len(parts) < 3 {
		parts = append(parts, "")
	}
	if parts[1] == "metav1.ListMeta" {
		parts[2] = strings.TrimSuffix(parts[2], ",omitempty")
	}
	return strings.Join(parts, " | ")
}

func readSource(t *testing.T) api {
	t.Helper()
	found := newAPI()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				found.addFunc(declaration)
			case *ast.GenDecl:
				for _, spec := range declaration.Specs {
					found.addSpec(spec)
				}
			}
		}
	}
	return found
}

func (a api) addFunc(declaration *ast.FuncDecl) {
	receiver := ""
	if declaration.Recv != nil {
		receiver = strings.TrimPrefix(types.ExprString(declaration.Recv.List[0].Type), "*")
	}
	a.funcs[receiver+"."+declaration.Name.Name] = true
}

func (a api) addSpec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for i, name := range spec.Names {
			a.values[name.Name] = ""
			if i < len(spec.Values) {
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok {
					a.values[name.Name] = literal.Value
				}
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			a.fields[spec.Name.Name] = []string{types.ExprString(spec.Type)}
			return
		}
		a.fields[spec.Name.Name] = nil
		for _, field := range structure.Fields.List {
			name, tag := "(embedded)", ""
			if len(field.Names) > 0 {
				name = field.Names[0].Name
			}
			if field.Tag != nil {
				tag = reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
			}
			a.fields[spec.Name.Name] = append(a.fields[spec.Name.Name], normalize(name, types.ExprString(field.Type), tag))
		}
	}
}

func sameSet(want, got []string) bool {
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range got {
		count[line]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
