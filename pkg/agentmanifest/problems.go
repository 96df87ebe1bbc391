package agentmanifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rancher/fleet/pkg/registration"
)

// Bounds of what is said of options, which ends in a condition: whoever wrote them chose their number and their texts.
const (
	maxProblems     = 16
	maxProblemField = 200
	maxProblemValue = 80
)

// saying is the error that names the problems, the first of them if they are many; nil where there are none.
func saying(problems field.ErrorList) error {
	var errs []error
	for _, problem := range problems[:min(len(problems), maxProblems)] {
		errs = append(errs, shown(problem))
	}
	if more := len(problems) - len(errs); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return utilerrors.NewAggregate(errs)
}

// shown is a problem without what cannot be printed, and not too long.
func shown(problem *field.Error) *field.Error {
	out := *problem
	out.Field = registration.Printable(problem.Field, maxProblemField)
	if value := reflect.ValueOf(problem.BadValue); value.Kind() == reflect.String {
		out.BadValue = registration.Printable(value.String(), maxProblemValue)
	}
	return &out
}

// unwritableIn says whether a part of the manifest has a text that YAML cannot carry.
func unwritableIn(part any) bool {
	raw, err := json.Marshal(part)
	return err != nil || strings.ContainsFunc(string(raw), unwritable)
}
