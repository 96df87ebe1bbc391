package join

import "context"

// Together lets n agents join at the same moment with the values of a registration token, and returns what each was
// granted. Their client IDs are the prefix and a number.
func Together(ctx context.Context, values map[string]any, prefix string, n int) ([]Outcome, error) {
	o, err := orderOf(values)
	if err != nil {
		return nil, err
	}
	return crowd(ctx, o, prefix, n, 0)
}
