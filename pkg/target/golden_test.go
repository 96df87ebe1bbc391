package target

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// read reads facts from a file of several documents.
func read(t *testing.T, path string) (facts Facts) {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, document := range bytes.Split(file, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal(document, &kind))
		var into any
		switch kind.Kind {
		case "Bundle":
			facts.Bundle = &fleet.Bundle{}
			into = facts.Bundle
		case "Cluster":
			facts.Clusters = append(facts.Clusters, &fleet.Cluster{})
			into = facts.Clusters[len(facts.Clusters)-1]
		case "ClusterGroup":
			facts.Groups = append(facts.Groups, &fleet.ClusterGroup{})
			into = facts.Groups[len(facts.Groups)-1]
		case "GitRepoRestriction":
			facts.Restrictions = append(facts.Restrictions, &fleet.GitRepoRestriction{})
			into = facts.Restrictions[len(facts.Restrictions)-1]
		default:
			t.Fatalf("%s: unknown kind %q", path, kind.Kind)
		}
		require.NoError(t, yaml.UnmarshalStrict(document, into))
	}
	return facts
}

// A difference in an ID deploys bundles again: it must be meant.
func TestTargetsAreAsTheGoldenFilesSay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "find", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			facts := read(t, path)
			targets, refusals := find(t, facts)
			var got bytes.Buffer
			for _, target := range targets {
				options, err := yaml.Marshal(target.Options)
				require.NoError(t, err)
				fmt.Fprintf(&got, "# %s: %s\n%s", target.Key(), target.DeploymentID, options)
			}
			for _, refusal := range refusals {
				fmt.Fprintf(&got, "# refused: %s\n", refusal)
			}
			for _, c := range facts.Clusters {
				fmt.Fprintf(&got, "# %s: %s\n", c.Name, Explain(facts, c).Reason)
			}
			golden(t, filepath.Join("find", name+".golden"), got.Bytes())
		})
	}
}
