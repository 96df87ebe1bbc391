package sandbox

import (
	"fmt"
	"reflect"
)

// stepCost is what one step of a template costs, elementCost what a value costs beside its bytes.
const (
	stepCost    = 64
	elementCost = 16
)

// budget is what an execution may still spend.
type budget struct{ left int }

// budgetError says that a template does too much, or nests too deep.
type budgetError struct{ reason string }

func (e *budgetError) Error() string { return e.reason }

func (b *budget) spend(cost int) error {
	if cost < 0 || cost > b.left {
		b.left = 0
		return &budgetError{fmt.Sprintf("the template does more work than one cluster may cause (%d bytes read and made): look for loops, repetitions and long lists", maxWork)}
	}
	b.left -= cost
	return nil
}

// spendFloat is spend for a product that an int may not hold.
func (b *budget) spendFloat(cost float64) error {
	if !(cost <= maxWork) {
		return b.spend(maxWork + 1)
	}
	return b.spend(int(cost))
}

// charge spends what a value is worth. A value that contains itself is found by its depth.
func (b *budget) charge(value any) error {
	return b.chargeValue(reflect.ValueOf(value), 0)
}

func (b *budget) chargeValue(v reflect.Value, depth int) error {
	if depth > MaxDepth {
		return &budgetError{fmt.Sprintf("the values are nested more than %d deep", MaxDepth)}
	}
	cost := elementCost
	if v.Kind() == reflect.String {
		cost += v.Len()
	}
	if err := b.spend(cost); err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return b.chargeValue(v.Elem(), depth+1)
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if err := b.chargeValue(entries.Key(), depth+1); err != nil {
				return err
			}
			if err := b.chargeValue(unwrapped(entries.Value()), depth+1); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		return b.chargeElements(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if err := b.chargeValue(unwrapped(v.Field(i)), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *budget) chargeElements(v reflect.Value, depth int) error {
	switch v.Type().Elem().Kind() {
	case reflect.Uint8, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool:
		return b.spend(v.Len() * 8)
	}
	for i := range v.Len() {
		if err := b.chargeValue(unwrapped(v.Index(i)), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// unwrapped is what an interface holds, so that it does not count as a level of its own.
func unwrapped(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		return v.Elem()
	}
	return v
}

// copyData copies maps and lists, so that a template which changes its data changes nothing else.
func copyData(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, element := range value {
			out[key] = copyData(element)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = copyData(element)
		}
		return out
	}
	return value
}
