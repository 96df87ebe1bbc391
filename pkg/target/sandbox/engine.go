package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// Limits of one execution.
const (
	// MaxText is how long a template may be, and how long its output.
	MaxText = 3 << 19
	// MaxActions is how many actions a template may have.
	MaxActions = 10_000
	// MaxDepth is how deep the data may be nested, before and while a template works on it.
	MaxDepth = 100
	// maxWork is the budget of one execution, in bytes read and made.
	maxWork = 16 << 20
	// maxParsed is how many parsed templates are kept.
	maxParsed = 64
)

// Left and Right enclose an action. They are not those of Helm, whose templates may stand in values.
const (
	Left  = "${"
	Right = "}"
)

// Engine executes templates. It keeps those that it has parsed, since one template goes to many clusters. It is not for
// several goroutines at once.
type Engine struct {
	functions template.FuncMap
	parsed    map[string]*template.Template
	budget    budget
}

// New makes an engine.
func New() *Engine {
	e := &Engine{parsed: map[string]*template.Template{}}
	e.functions = functions(&e.budget)
	return e
}

// HasActions says whether a text is a template at all.
func HasActions(text string) bool {
	return strings.Contains(text, Left)
}

// Execute fills in the template. What data lacks is an error, as are all other things that a template cannot do.
func (e *Engine) Execute(text string, data map[string]any) (string, error) {
	t, err := e.parse(text)
	if err != nil {
		return "", err
	}
	e.budget = budget{left: maxWork}
	if err := e.budget.charge(data); err != nil {
		return "", err
	}
	copied, _ := copyData(data).(map[string]any)
	out := &output{budget: &e.budget}
	if err := t.Execute(out, copied); err != nil {
		return "", readable(err)
	}
	return out.text.String(), nil
}

func (e *Engine) parse(text string) (*template.Template, error) {
	if t, ok := e.parsed[text]; ok {
		return t, nil
	}
	if len(text) > MaxText {
		return nil, fmt.Errorf("the template has %d bytes, of at most %d", len(text), MaxText)
	}
	if n := strings.Count(text, Left); n > MaxActions {
		return nil, fmt.Errorf("the template has %d actions, of at most %d", n, MaxActions)
	}
	t, err := template.New("values").Delims(Left, Right).Option("missingkey=error").Funcs(e.functions).Parse(text)
	if err != nil {
		return nil, &SyntaxError{reason: readable(err).Error()}
	}
	for _, each := range t.Templates() {
		meter(each.Tree, each.Name() != t.Name())
	}
	if len(e.parsed) >= maxParsed {
		clear(e.parsed)
	}
	e.parsed[text] = t
	return t, nil
}

// SyntaxError says that a text is no template. It may not be meant as one.
type SyntaxError struct{ reason string }

func (e *SyntaxError) Error() string { return e.reason }

// noValue is what text/template writes for a value that is not there. Nobody wants to have that deployed.
const noValue = "<no value>"

// output is where a template writes to. Each write costs, also an empty one: see meter.
type output struct {
	budget *budget
	text   bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	if err := o.budget.spend(stepCost + len(p)); err != nil {
		return 0, err
	}
	if string(p) == noValue {
		return 0, errors.New("an action gives no value, as index does for a key that is not there: use default to say what stands for it")
	}
	if o.text.Len()+len(p) > MaxText {
		return 0, fmt.Errorf("the output is longer than %d bytes", MaxText)
	}
	return o.text.Write(p)
}

// readable drops what text/template says about itself, and bounds the rest.
func readable(err error) error {
	if tooMuch := (*budgetError)(nil); errors.As(err, &tooMuch) {
		return tooMuch
	}
	text := strings.TrimPrefix(err.Error(), "template: values:")
	return errors.New(Bounded(strings.Replace(text, `executing "values" at <`, "at <", 1)))
}
