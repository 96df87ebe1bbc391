package target

import (
	"errors"

	"github.com/rancher/fleet/pkg/target/sandbox"
)

// fieldError is what is wrong with a field, named by its path.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// below puts the path of the object before that of the field.
func (e *fieldError) below(path string) *fieldError {
	return &fieldError{field: path + "." + e.field, err: e.err}
}

// bounded is an error about what someone else wrote, as a short printable line.
func bounded(err error) error {
	return errors.New(sandbox.Bounded(err.Error()))
}

// Problem says what is wrong with the bundle itself: a selector that cannot be read, or values that are missing or broken.
// While something is, Find refuses every cluster.
func Problem(facts Facts) error {
	if c := compile(facts); c.problem != nil {
		return c.problem
	}
	return nil
}
