package target

// Find chooses the clusters that get the bundle, and makes the options of each. Both lists are sorted by the namespace and
// name of the cluster, and no cluster is in both.
func Find(facts Facts, manifestID string) ([]Target, []Refusal) {
	return nil, nil
}
