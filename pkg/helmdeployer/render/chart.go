package render

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/rancher/fleet/pkg/content"
)

// commitDigits is how much of a commit is in the version of a chart.
const commitDigits = 12

// notInVersion is what a version's build part must not have.
var notInVersion = regexp.MustCompile(`[^0-9A-Za-z-]+`)

// loadChart reads the chart in a folder of the files.
func loadChart(files []content.File, folder string) (*chart.Chart, error) {
	var inside []*loader.BufferedFile
	for _, file := range files {
		name, ok := strings.CutPrefix(file.Name, folder)
		if ok && !strings.HasPrefix(name, overlayDir) && !isBundleFile(name) {
			inside = append(inside, &loader.BufferedFile{Name: name, Data: file.Data})
		}
	}
	loaded, err := loader.LoadFiles(inside)
	if err != nil {
		return nil, fmt.Errorf("the chart in %q of the bundle: %w", "/"+folder, err)
	}
	return loaded, nil
}

// makeChart makes a chart for a bundle that has none.
func makeChart(templates []content.File, in Input) (*chart.Chart, error) {
	made := &chart.Chart{Metadata: &chart.Metadata{
		APIVersion: chart.APIVersionV2,
		Name:       path.Base(in.Name),
		Version:    chartVersion(in.ManifestID, in.Commit),
	}}
	for _, file := range templates {
		made.Templates = append(made.Templates, &chart.File{Name: file.Name, Data: file.Data})
	}
	if err := made.Validate(); err != nil {
		return nil, fmt.Errorf("a chart for bundle %.120q: %w", in.Name, err)
	}
	return made, nil
}

func chartVersion(manifestID, commit string) string {
	build := notInVersion.ReplaceAllString(manifestID, "-")
	if commit != "" {
		build = "git-" + notInVersion.ReplaceAllString(commit[:min(len(commit), commitDigits)], "-")
	}
	if build == "" {
		return "v0.0.0"
	}
	return "v0.0.0+" + build
}

// annotate puts annotations on a chart without changing one that others hold.
func annotate(c *chart.Chart, annotations map[string]string) error {
	if c.Metadata == nil {
		return fmt.Errorf("the chart has no metadata")
	}
	metadata := *c.Metadata
	metadata.Annotations = maps.Clone(metadata.Annotations)
	if metadata.Annotations == nil {
		metadata.Annotations = map[string]string{}
	}
	maps.Copy(metadata.Annotations, annotations)
	c.Metadata = &metadata
	return nil
}

// Mentions says whether a chart, or one that it depends on, has a text in its templates.
func Mentions(c *chart.Chart, text string) bool {
	for _, file := range c.Templates {
		if strings.Contains(string(file.Data), text) {
			return true
		}
	}
	for _, dependency := range c.Dependencies() {
		if Mentions(dependency, text) {
			return true
		}
	}
	return false
}
