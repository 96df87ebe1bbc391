package permissions

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed matrix.yaml
var document []byte

// Where identities make their attempts.
const (
	AtHub        = "hub"
	AtDownstream = "downstream"
)

// everywhere is the place that stands for all namespaces, or for none.
const everywhere = "everywhere"

// Matrix is matrix.yaml.
type Matrix struct {
	Identities []Identity          `json:"identities"`
	Groups     map[string][]string `json:"groups"`
	// Tenants are the rules that people are given in a workspace, for the test to have such people.
	Tenants map[string][]rbacv1.PolicyRule `json:"tenants"`
	// Rules are the exact rules of an identity, by place; everywhere is where no other place is meant.
	Rules    map[string]map[string][]string `json:"rules"`
	Requests []Row                          `json:"requests"`
}

// Identity is somebody who makes attempts.
type Identity struct {
	Name  string `json:"name"`
	At    string `json:"at"`
	About string `json:"about"`
}

// Row is attempts that end alike: either May or MayNot is given.
type Row struct {
	Section string   `json:"section"`
	Who     []string `json:"who"`
	May     []string `json:"may"`
	MayNot  []string `json:"mayNot"`
	What    string   `json:"what"`
	Where   []string `json:"where"`
	Name    string   `json:"name"`
}

// Load is the matrix of the repository.
func Load() (Matrix, error) { return Parse(document) }

// Parse reads a matrix and refuses one that could not be held against anything.
func Parse(document []byte) (Matrix, error) {
	var m Matrix
	if err := yaml.UnmarshalStrict(document, &m); err != nil {
		return m, fmt.Errorf("the matrix: %w", err)
	}
	return m, m.validate()
}

func (m Matrix) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, i := range m.Identities {
		if i.About == "" || i.At != AtHub && i.At != AtDownstream {
			bad("identity %s needs about, and at: %s or %s", i.Name, AtHub, AtDownstream)
		}
	}
	for who := range m.Rules {
		if !m.knows(who) {
			bad("rules of %s, who is no identity", who)
		}
	}
	tried := map[string]bool{}
	for _, row := range m.Requests {
		if (len(row.May) == 0) == (len(row.MayNot) == 0) {
			bad("%s for %v: either may or mayNot", row.What, row.Who)
		}
		if row.What == "" || len(row.Where) == 0 || len(row.Who) == 0 {
			bad("%+v: who, what and where", row)
		}
		for _, who := range m.expand(row.Who) {
			if !m.knows(who) {
				bad("%s: nobody knows %s", row.What, who)
			}
			tried[who] = true
		}
	}
	for _, i := range m.Identities {
		if !tried[i.Name] {
			bad("identity %s tries nothing", i.Name)
		}
	}
	return errors.Join(problems...)
}

func (m Matrix) knows(who string) bool {
	return slices.ContainsFunc(m.Identities, func(i Identity) bool { return i.Name == who })
}

// expand puts the members in the place of groups, which may contain groups.
func (m Matrix) expand(who []string) (out []string) {
	for _, name := range who {
		if members, ok := m.Groups[name]; ok {
			out = append(out, m.expand(members)...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

// Places are what the words of the matrix stand for in one installation.
type Places struct {
	Namespaces, Names map[string]string
}

// NamespaceOf is what a place stands for.
func (p Places) NamespaceOf(where string) (string, error) {
	namespace, ok := p.Namespaces[where]
	if !ok && where != everywhere {
		return "", fmt.Errorf("nobody knows namespace %s", where)
	}
	return namespace, nil
}

// nameOf is what a name stands for: itself, unless it is of somebody.
func (p Places) nameOf(name string) (string, error) {
	if known, ok := p.Names[name]; ok {
		return known, nil
	}
	if strings.HasPrefix(name, "own-") || strings.HasPrefix(name, "other-") {
		return "", fmt.Errorf("nobody knows name %s", name)
	}
	return name, nil
}

// Expectation is an attempt and how it must end.
type Expectation struct {
	Attempt
	Allowed bool
}

// Expect are the attempts of an identity.
func (m Matrix) Expect(who string, places Places) ([]Expectation, error) {
	var out []Expectation
	for _, row := range m.Requests {
		if !slices.Contains(m.expand(row.Who), who) {
			continue
		}
		attempts, err := row.attempts(places)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.What, err)
		}
		for _, a := range attempts {
			out = append(out, Expectation{Attempt: a, Allowed: len(row.May) > 0})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the matrix has no row for %s", who)
	}
	return out, nil
}

// ExpectRules are the rules that an identity must have in a namespace, and false where the matrix does not say.
func (m Matrix) ExpectRules(who, namespace string, places Places) ([]string, bool) {
	rules, ok := m.Rules[who]
	if !ok {
		return nil, false
	}
	expected := rules[everywhere]
	for _, where := range slices.Sorted(maps.Keys(rules)) {
		if where != everywhere && places.Namespaces[where] == namespace {
			expected = rules[where]
		}
	}
	var out []string
	for _, line := range expected {
		fields := strings.Fields(line)
		if last := len(fields) - 1; last > 1 {
			if name, ok := places.Names[fields[last]]; ok {
				fields[last] = name
			}
		}
		out = append(out, strings.Join(fields, " "))
	}
	return out, true
}

// Difference are the rules that somebody has and the matrix does not know, and the other way round.
func Difference(want, got []string) (unknown, missing []string) {
	for _, line := range got {
		if !slices.Contains(want, line) {
			unknown = append(unknown, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			missing = append(missing, line)
		}
	}
	return unknown, missing
}
