package crdfacts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// list is the facts of each section, by path.
type list map[string]map[string]Fact

// read adds the facts of a text. Includes take effect at the end of their section.
func (l list) read(text string) error {
	section := ""
	var includes []string
	flush := func() error {
		for _, line := range includes {
			if err := l.include(section, line); err != nil {
				return err
			}
		}
		includes = nil
		return nil
	}
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		var err error
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			err = flush()
			section = strings.Trim(line, "[]")
			if l[section] == nil {
				l[section] = map[string]Fact{}
			}
		case section == "":
			err = fmt.Errorf("%q stands before the first section", line)
		case strings.HasPrefix(line, "include "):
			includes = append(includes, line)
		default:
			err = l.add(section, line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	return flush()
}

// add adds the fact of a line "path : type (flags)".
func (l list) add(section, line string) error {
	path, rest, found := strings.Cut(line, " : ")
	if !found {
		return fmt.Errorf("%q is not a fact: it has no \" : \"", line)
	}
	if _, exists := l[section][path]; exists {
		return fmt.Errorf("%s: %s stands there twice", section, path)
	}
	typ, flags, _ := strings.Cut(rest, " (")
	fact := Fact{Path: path, Type: typ, Flags: strings.Fields(strings.TrimSuffix(flags, ")"))}
	slices.Sort(fact.Flags)
	l[section][path] = fact
	return nil
}

// include adds what a line "include Kind.path at path [without defaults]" stands for.
func (l list) include(section, line string) error {
	words := strings.Fields(line)
	if len(words) < 4 || words[2] != "at" {
		return fmt.Errorf("%q is not \"include Kind.path at path\"", line)
	}
	source, below, _ := strings.Cut(words[1], ".")
	found := false
	// A copy, because a kind may include a part of itself.
	for path, fact := range maps.Clone(l[source]) {
		if below != "" {
			rest, ok := strings.CutPrefix(path, below)
			if !ok || rest == "" || !strings.ContainsAny(rest[:1], ".[{") {
				continue
			}
			path = rest
		} else if !strings.HasPrefix(path, "[") {
			path = "." + path
		}
		found = true
		fact.Path = words[3] + path
		if len(words) > 4 {
			fact.Flags = slices.DeleteFunc(slices.Clone(fact.Flags), func(flag string) bool { return strings.HasPrefix(flag, "default=") })
		}
		if _, exists := l[section][fact.Path]; !exists {
			l[section][fact.Path] = fact
		}
	}
	if !found {
		return fmt.Errorf("%q includes nothing: the section must come before this one", line)
	}
	return nil
}
