package sandbox

import (
	"fmt"
	"math"
	"reflect"
	"regexp/syntax"
	"strconv"
	"strings"
)

// maxPattern is how long a regular expression may be; its cost is known only after it was parsed.
const maxPattern = 1000

// cost is the work of a call beyond reading its arguments, or the size of what it makes, in bytes. size is what its
// arguments were charged with.
type cost func(a arguments, size float64) (float64, error)

// costs has the functions whose work or result can be much larger than their arguments. All others are linear.
var costs = map[string]cost{
	"repeat":  func(a arguments, _ float64) (float64, error) { return a.number(0) * a.length(1), nil },
	"indent":  indentCost,
	"nindent": indentCost,
	"until":   func(a arguments, _ float64) (float64, error) { return rangeCost(0, a.number(0), 1), nil },
	"untilStep": func(a arguments, _ float64) (float64, error) {
		return rangeCost(a.number(0), a.number(1), a.number(2)), nil
	},
	"seq":      seqCost,
	"replace":  replaceCost,
	"join":     productCost,
	"trimAll":  productCost,
	"trimall":  productCost,
	"wrapWith": wrapCost,
	"printf":   printfCost,

	"toPrettyJson": prettyCost, "mustToPrettyJson": prettyCost,
	"uniq": uniqCost, "mustUniq": uniqCost,
	"without": withoutCost, "mustWithout": withoutCost,
	"addf": squareCost, "subf": squareCost, "mulf": squareCost, "divf": squareCost,

	"regexMatch": regexCost, "mustRegexMatch": regexCost,
	"regexFind": regexCost, "mustRegexFind": regexCost,
	"regexFindAll": regexCost, "mustRegexFindAll": regexCost,
	"regexSplit": regexCost, "mustRegexSplit": regexCost,
	"regexReplaceAll": regexReplaceCost, "mustRegexReplaceAll": regexReplaceCost,
	"regexReplaceAllLiteral": regexReplaceCost, "mustRegexReplaceAllLiteral": regexReplaceCost,
}

// pay spends what a call costs, before it is made.
func (b *budget) pay(name string, a arguments) error {
	before := b.left
	if err := b.spend(stepCost); err != nil {
		return err
	}
	for _, arg := range a {
		if err := b.chargeValue(unwrapped(arg), 0); err != nil {
			return err
		}
	}
	work, ok := costs[name]
	if !ok {
		return nil
	}
	price, err := work(a, float64(before-b.left))
	if err != nil {
		return err
	}
	return b.spendFloat(price)
}

// arguments are those of a call; the last holds all variadic ones.
type arguments []reflect.Value

func (a arguments) number(i int) float64 {
	v := unwrapped(a[i])
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	}
	return 0
}

func (a arguments) text(i int) string {
	if v := unwrapped(a[i]); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

// length is that of a text in bytes, or of a list in elements.
func (a arguments) length(i int) float64 {
	switch v := unwrapped(a[i]); v.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return float64(v.Len())
	}
	return 0
}

func indentCost(a arguments, _ float64) (float64, error) {
	return a.number(0) * float64(1+strings.Count(a.text(1), "\n")), nil
}

// rangeCost is that of a list of numbers.
func rangeCost(start, stop, step float64) float64 {
	if step == 0 {
		return 0
	}
	return 8 * (math.Abs(stop-start)/math.Abs(step) + 1)
}

func seqCost(a arguments, _ float64) (float64, error) {
	var n arguments
	for i := range a[0].Len() {
		n = append(n, a[0].Index(i))
	}
	switch len(n) {
	case 1:
		return rangeCost(1, n.number(0), 1), nil
	case 2:
		return rangeCost(n.number(0), n.number(1), 1), nil
	case 3:
		return rangeCost(n.number(0), n.number(2), n.number(1)), nil
	}
	return 0, nil
}

func replaceCost(a arguments, _ float64) (float64, error) {
	return (a.length(2)/max(a.length(0), 1) + 1) * a.length(1), nil
}

func wrapCost(a arguments, _ float64) (float64, error) {
	return (a.length(2)/max(a.number(0), 1) + 1) * a.length(1), nil
}

// prettyCost allows for the indentation.
func prettyCost(_ arguments, size float64) (float64, error) { return 4 * size, nil }

// printfCost knows that a verb can be as wide as its number says or an argument does, and that each verb can print all
// arguments.
func printfCost(a arguments, size float64) (float64, error) {
	const widest = 1e6 // what fmt allows
	format, total := a.text(0), 0.0
	for _, digits := range strings.FieldsFunc(format, func(r rune) bool { return r < '0' || r > '9' }) {
		width, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return 0, fmt.Errorf("the width %s in a format: %w", Bounded(digits), err)
		}
		total += min(width, widest)
	}
	return total + widest*float64(strings.Count(format, "*")) + float64(strings.Count(format, "%"))*size, nil
}

// squareCost is that of arithmetic whose numbers grow with each step.
func squareCost(a arguments, _ float64) (float64, error) {
	n := a.length(len(a) - 1)
	return n * n * elementCost, nil
}

// productCost is that of putting, or looking for, one argument at each element of the other.
func productCost(a arguments, _ float64) (float64, error) {
	return a.length(0) * a.length(1), nil
}

// uniqCost is that of comparing each element with all.
func uniqCost(a arguments, size float64) (float64, error) { return a.length(0) * size, nil }

func withoutCost(a arguments, size float64) (float64, error) { return a.length(1) * size, nil }

// regexCost is the text times the size of the compiled expression, which is what a match can take at worst.
func regexCost(a arguments, _ float64) (float64, error) {
	size, err := programSize(a.text(0))
	return size * (1 + a.length(1)), err
}

func regexReplaceCost(a arguments, size float64) (float64, error) {
	work, err := regexCost(a, size)
	text, by := a.length(1), a.text(2)
	return work + (text+1)*float64(len(by)) + text*float64(strings.Count(by, "$")), err
}

func programSize(pattern string) (float64, error) {
	if len(pattern) > maxPattern {
		return 0, fmt.Errorf("a regular expression has %d bytes, of at most %d", len(pattern), maxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("the regular expression %s: %w", Bounded(pattern), err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, fmt.Errorf("the regular expression %s: %w", Bounded(pattern), err)
	}
	return float64(len(program.Inst)), nil
}
