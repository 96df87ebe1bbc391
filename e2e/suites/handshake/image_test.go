package handshake

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/stage"
)

// image is what a handshake has left: objects by their disguised name, and their disguised contents. Two objects that play
// the same part have two entries.
type image map[string]string

// differences say what an image has and lacks in comparison with another; empty where they are the same.
func (i image) differences(want image) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(i)) {
		if _, ok := want[name]; !ok {
			fmt.Fprintf(&out, "too much: %s\n%s", name, indent(i[name], "      "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		content, ok := i[name]
		if !ok {
			fmt.Fprintf(&out, "missing: %s\n", name)
		} else if content != want[name] {
			fmt.Fprintf(&out, "other contents: %s\n%s%s", name,
				indent(onlyIn(content, want[name]), "    is     "), indent(onlyIn(want[name], content), "    should "))
		}
	}
	return out.String()
}

// onlyIn are the lines of a that b lacks.
func onlyIn(a, b string) string {
	rest := strings.Split(b, "\n")
	var out strings.Builder
	for line := range strings.Lines(a) {
		line = strings.TrimSuffix(line, "\n")
		if at := slices.Index(rest, line); at >= 0 {
			rest = slices.Delete(rest, at, at+1)
		} else {
			fmt.Fprintln(&out, line)
		}
	}
	return out.String()
}

func indent(text, prefix string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(prefix + line)
	}
	return out.String()
}

// look adds to the image what a cluster has beyond what it had before, and returns all that it has.
func (i image) look(ctx context.Context, at string, cluster *stage.Cluster, before stage.Snapshot) (stage.Snapshot, error) {
	now, err := cluster.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	contents, err := cluster.Contents(ctx, slices.DeleteFunc(now.Without(before), ofKubernetes))
	if err != nil {
		return nil, err
	}
	for key, obj := range contents {
		text, err := contentOf(obj)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		name := at + " " + disguise(key.String())
		for n := 2; i[name] != ""; n++ {
			name = fmt.Sprintf("%s %s (%d)", at, disguise(key.String()), n)
		}
		i[name] = text
	}
	return now, nil
}

// ofKubernetes are objects that follow from others, with names that Kubernetes makes up; and Helm's records, of which there
// is one more where an agent was killed.
func ofKubernetes(key stage.Key) bool {
	return key.Kind == "Pod" || key.Kind == "ReplicaSet" || key.Kind == "Secret" && strings.HasPrefix(key.Name, "sh.helm.release.v1.")
}

// contentOf is an object in disguise, without the server's bookkeeping.
func contentOf(obj *unstructured.Unstructured) (string, error) {
	obj = obj.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	// The apply engine's copy of what it applied, compressed.
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", "objectset.rio.cattle.io/applied")
	// How often an election was won says how often a process was killed.
	unstructured.RemoveNestedField(obj.Object, "spec", "leaseTransitions")
	switch obj.GetKind() {
	case "Deployment":
		delete(obj.Object, "status") // no pod ever runs
	case "Content":
		delete(obj.Object, "content") // packed, and with the names of the run
		delete(obj.Object, "sha256sum")
	case "Secret":
		if err := plainData(obj); err != nil {
			return "", err
		}
	}
	sortConditions(obj)
	text, err := yaml.Marshal(obj.Object)
	return disguise(string(text)), err
}

// plainData shows what is text in a Secret, and of the rest that it is there.
func plainData(obj *unstructured.Unstructured) error {
	data, _, err := unstructured.NestedStringMap(obj.Object, "data")
	if err != nil {
		return err
	}
	for key, value := range data {
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		data[key] = string(decoded)
		if secret := key == "privateKey" || key == "bootstrapDigest"; secret || !utf8.Valid(decoded) {
			data[key] = fmt.Sprintf("%d bytes", len(decoded))
		}
	}
	if len(data) == 0 {
		return nil
	}
	return unstructured.SetNestedStringMap(obj.Object, data, "data")
}

// sortConditions orders conditions, which are a set.
func sortConditions(obj *unstructured.Unstructured) {
	list, ok, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if !ok || err != nil {
		return
	}
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(typeOf(a), typeOf(b)) })
	_ = unstructured.SetNestedSlice(obj.Object, list, "status", "conditions")
}

func typeOf(condition any) string {
	fields, _ := condition.(map[string]any)
	kind, _ := fields["type"].(string)
	return kind
}

// requireOneRegistration looks at an image for itself: all others are only compared with it.
func (i image) requireOneRegistration(t *testing.T) {
	t.Helper()
	parts := map[string]int{}
	for name, content := range i {
		switch kind := strings.Fields(name)[1]; {
		case kind == "ClusterRegistration.fleet.cattle.io":
			require.Contains(t, content, "granted: true")
			require.Contains(t, content, "used: true")
			parts["request"]++
		case kind == "Cluster.fleet.cattle.io":
			parts["cluster"]++
		case kind == "ServiceAccount" && strings.Contains(name, stage.AgentsNamespace):
			parts["request account"]++
		case kind == "Secret" && strings.HasSuffix(name, "/fleet-agent-bootstrap"), strings.HasSuffix(name, "/CREDENTIAL"):
			parts["what carried the credential"]++
		}
	}
	require.Equal(t, map[string]int{"request": 1, "cluster": 1, "request account": 1}, parts)
}
