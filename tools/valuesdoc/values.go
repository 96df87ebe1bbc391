package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is one value of a chart, or a group of them.
type value struct {
	path string
	// text is the comment above it; see names the value whose comment it shares.
	text, see string
	// group says that other values lie in it, which have rows of their own.
	group bool
	node  *yaml.Node
}

// mark is a comment that belongs to its own value alone, whatever follows it.
var mark = regexp.MustCompile(`^[Vv]oid( yet)?\b`)

// readValues returns the comment at the top of a values file, and all values in their order.
func readValues(source []byte) (intro string, all []value, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(source, &document); err != nil {
		return "", nil, err
	}
	if document.Kind != yaml.DocumentNode || document.Content[0].Kind != yaml.MappingNode {
		return "", nil, errors.New("no mapping at the top")
	}
	lines := bytes.Split(source, []byte("\n"))
	w := walk{blank: func(line int) bool { return line < 1 || len(bytes.TrimSpace(lines[line-1])) == 0 }}
	w.mapping(document.Content[0], "", value{})
	return comment(document.HeadComment), w.all, errors.Join(w.errs...)
}

// walk goes through a values file. blank says whether a line, counted from 1, is empty.
type walk struct {
	blank func(line int) bool
	all   []value
	errs  []error
}

// mapping takes the values in one mapping. What has no comment shares that of the value in the line before, as far as no
// empty line is between them, or that of what it lies in.
func (w *walk) mapping(node *yaml.Node, prefix string, parent value) {
	var shared value
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, content := node.Content[i], node.Content[i+1]
		v := value{path: prefix + key.Value, text: comment(key.HeadComment), node: content}
		v.group = content.Kind == yaml.MappingNode && len(content.Content) > 0
		switch {
		case v.text != "":
			shared = v
			if mark.MatchString(v.text) && parent.path != "" {
				shared = value{}
			}
		case shared.path != "" && !w.blank(key.Line-1):
			v.see = shared.path
		default:
			shared = value{}
			v.see = parent.path
		}
		w.take(v, parent)
	}
}

// take notes a value, and what lies in it.
func (w *walk) take(v, parent value) {
	if !v.group {
		if v.text == "" && v.see == "" {
			w.errs = append(w.errs, fmt.Errorf("%s has no comment: say above it what it does", v.path))
		}
		w.all = append(w.all, v)
		return
	}
	above := v
	switch {
	case v.text != "":
		w.all = append(w.all, v)
	case v.see != "":
		above.path = v.see
	default:
		above = parent
	}
	w.mapping(v.node, v.path+".", above)
}

// comment is a comment without its signs.
func comment(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "), " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// preset is a value as one would type it in one line.
func preset(node *yaml.Node) (string, error) {
	flat := *node
	flat.HeadComment, flat.LineComment, flat.FootComment = "", "", ""
	if flat.Kind != yaml.ScalarNode {
		flat.Style = yaml.FlowStyle
	}
	text, err := yaml.Marshal(&flat)
	return strings.TrimSpace(string(text)), err
}
