package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// Why a function is not to be had.
const (
	changes  = "gives another result each time, so that the bundle would be deployed again and again"
	outside  = "reads what lies outside of the bundle and its cluster"
	timezone = "depends on the clock and the time zone of the controller, so that the bundle would be deployed again and again"
	slow     = "is slow on purpose"
)

// denied are functions of sprig that a template must do without. They stay known, so that the error can say why.
var denied = map[string]string{
	"env": outside, "expandenv": outside, "getHostByName": outside,
	// Sprig has these two no longer; Helm has, and people try them.
	"include": "belongs to charts", "tpl": "belongs to charts",
	"now": changes, "ago": timezone, "date": timezone, "date_in_zone": timezone, "dateInZone": timezone,
	"date_modify": timezone, "dateModify": timezone, "must_date_modify": timezone, "mustDateModify": timezone,
	"htmlDate": timezone, "htmlDateInZone": timezone, "toDate": timezone, "mustToDate": timezone, "unixEpoch": timezone,
	"randAlphaNum": changes, "randAlpha": changes, "randAscii": changes, "randNumeric": changes, "randBytes": changes,
	"randInt": changes, "uuidv4": changes, "shuffle": changes, "bcrypt": changes, "htpasswd": changes, "encryptAES": changes,
	"genPrivateKey": changes, "genCA": changes, "genCAWithKey": changes, "genSelfSignedCert": changes,
	"genSelfSignedCertWithKey": changes, "genSignedCert": changes, "genSignedCertWithKey": changes, "derivePassword": slow,
}

// functions are those that a template has: sprig's, without the denied ones, and the built-in ones that do work. Each
// pays from the budget.
func functions(b *budget) template.FuncMap {
	all := sprig.TxtFuncMap()
	maps.Copy(all, replaced())
	for name, function := range all {
		all[name] = metered(b, name, function)
	}
	for name, reason := range denied {
		all[name] = func(...any) (any, error) {
			return nil, fmt.Errorf("the function %s cannot be used in values: it %s", name, reason)
		}
	}
	return all
}

// replaced are functions whose own form is not good enough: some list a map in random order, others are built in and would
// not pay.
func replaced() template.FuncMap {
	own := template.FuncMap{
		"keys":     sortedKeys,
		"values":   sortedValues,
		"print":    fmt.Sprint,
		"printf":   fmt.Sprintf,
		"println":  fmt.Sprintln,
		"html":     template.HTMLEscaper,
		"js":       template.JSEscaper,
		"urlquery": template.URLQueryEscaper,
	}
	for _, name := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
		own[name] = comparison(name)
	}
	return own
}

// comparison is a comparison as text/template has it, which does not export it.
func comparison(name string) func(first any, others ...any) (bool, error) {
	t := template.Must(template.New(name).Parse("{{" + name + " (index . 0) (index . 1)}}"))
	return func(first any, others ...any) (bool, error) {
		if len(others) == 0 || len(others) > 1 && name != "eq" {
			return false, fmt.Errorf("wrong number of arguments for %s: %d", name, 1+len(others))
		}
		for _, other := range others {
			var result strings.Builder
			if err := t.Execute(&result, []any{first, other}); err != nil {
				for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
					err = cause
				}
				return false, err
			}
			if result.String() == "true" {
				return true, nil
			}
		}
		return false, nil
	}
}

func sortedKeys(dicts ...map[string]any) []string {
	keys := []string{}
	for _, dict := range dicts {
		keys = append(keys, slices.Sorted(maps.Keys(dict))...)
	}
	return keys
}

func sortedValues(dict map[string]any) []any {
	values := make([]any, 0, len(dict))
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		values = append(values, dict[key])
	}
	return values
}

// metered wraps a function, so that its arguments, its work and its result are paid for. The wrapped one can fail also
// where the original cannot.
func metered(b *budget, name string, function any) any {
	f := reflect.ValueOf(function)
	t := f.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	failure := reflect.TypeFor[error]()
	signature := reflect.FuncOf(in, []reflect.Type{t.Out(0), failure}, t.IsVariadic())
	call := f.Call
	if t.IsVariadic() {
		call = f.CallSlice
	}
	return reflect.MakeFunc(signature, func(args []reflect.Value) []reflect.Value {
		fail := func(err error) []reflect.Value {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		if err := b.pay(name, args); err != nil {
			return fail(err)
		}
		out := call(args)
		// An operation that changes a dictionary may have made it contain itself, which only printing would find out.
		if err := b.chargeValue(unwrapped(out[0]), 0); err != nil {
			return fail(err)
		}
		if len(out) == 1 {
			out = append(out, reflect.Zero(failure))
		}
		return out
	}).Interface()
}
