package target

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rancher/fleet/pkg/target/sandbox"
)

// limit reads a number or a percentage of count. A percentage gives at least 1, so that a small share of few clusters does
// not stop everything; a number is taken as it is, and 0 stops. Of several, the first that is given counts.
func limit(count int, fallback intstr.IntOrString, given ...*intstr.IntOrString) (int, error) {
	value := fallback
	for _, v := range given {
		if v != nil {
			value = *v
			break
		}
	}
	if count <= 0 {
		return 1, nil
	}
	if value.Type == intstr.Int {
		return min(max(int(value.IntVal), 0), count), nil
	}
	text := strings.TrimSpace(value.StrVal)
	if number, err := strconv.Atoi(text); err == nil && number >= 0 {
		return min(number, count), nil
	}
	digits, isPercentage := strings.CutSuffix(text, "%")
	percent, err := strconv.Atoi(digits)
	if !isPercentage || err != nil || percent < 0 {
		return 0, fmt.Errorf("%q is neither a number nor a percentage", sandbox.Bounded(value.StrVal))
	}
	// A percentage above 100 is all; this also keeps the product from overflowing.
	return max(count*min(percent, 100)/100, 1), nil
}
