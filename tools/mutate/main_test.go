package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sum is a module with a defence, and a test that guards it or not.
func sum(t *testing.T, test string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/sum\n\ngo 1.26\n",
		"sum.go":      "package sum\n\nfunc Allowed(name string) bool { return name == \"friend\" }\n",
		"sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestStrangersAreKeptOut(t *testing.T) { " + test + " }\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func friend() defence {
	return defence{Name: "strangers", Attacks: []int{1}, File: "sum.go", Find: `name == "friend"`, Replace: `name != ""`}
}

func TestADefenceThatATestGuardsIsMissed(t *testing.T) {
	verdict, ok := try(sum(t, `if Allowed("stranger") { t.Error("in") }`), friend())
	if !ok || verdict != "noticed by TestStrangersAreKeptOut" {
		t.Errorf("%v %s", ok, verdict)
	}
}

func TestWhatDoesNotCountAsNoticed(t *testing.T) {
	guarded := sum(t, `if Allowed("stranger") { t.Error("in") }`)
	for name, test := range map[string]struct {
		root   string
		change func(*defence)
		says   string
	}{
		"no test guards it":        {sum(t, `if !Allowed("friend") { t.Error("out") }`), func(*defence) {}, "no test noticed"},
		"it does not compile":      {guarded, func(d *defence) { d.Replace = "nothing" }, "did not run"},
		"it is not there any more": {guarded, func(d *defence) { d.Find = "gone" }, "0 times"},
		"its file is gone":         {guarded, func(d *defence) { d.File = "gone.go" }, "no such file"},
	} {
		d := friend()
		test.change(&d)
		verdict, ok := try(test.root, d)
		if ok || !strings.Contains(verdict, test.says) {
			t.Errorf("%s: %v %s", name, ok, verdict)
		}
	}
}

func TestTheListIsWellFormed(t *testing.T) {
	defences, err := parse(listed)
	if err != nil {
		t.Fatal(err)
	}
	if len(defences) < 20 {
		t.Errorf("only %d defences", len(defences))
	}
	for _, d := range defences {
		text, err := os.ReadFile(filepath.Join("..", "..", d.File))
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		if _, err := d.mutate(string(text)); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

func TestBadListsAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		"- name: a\n  attacks: [1]\n  file: f\n  find: x\n  replace: x\n":                    "the same",
		"- attacks: [1]\n  file: f\n  find: x\n":                                             "no name",
		"- name: a\n  file: f\n  find: x\n":                                                  "no attack",
		"- name: a\n  attacks: [1]\n  find: x\n":                                             "are needed",
		"- name: a\n  attack: 1\n":                                                           "unknown field",
		strings.Repeat("- name: a\n  attacks: [1]\n  file: f\n  find: x\n  replace: y\n", 2): "twice",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
