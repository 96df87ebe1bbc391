package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
)

// Input is a bundle as it is deployed.
type Input struct {
	// Name is the bundle's ID.
	Name string
	// ManifestID and Commit make the version of a chart that has none.
	ManifestID, Commit string
	Files              []content.File
	Options            fleet.BundleDeploymentOptions
	// Annotations are put on the chart.
	Annotations map[string]string
	// Fetched is the chart, where it does not come with the files; see NeedsFetch.
	Fetched *chart.Chart
}

// Bundle is a bundle that is ready to be rendered.
type Bundle struct {
	// Chart renders what is a template. It has the annotations; plain manifests are not in it.
	Chart *chart.Chart
	// plain are manifests that are taken as they are.
	plain []content.File
	// kustomize is the folder that kustomize runs in, over all files; nil means it does not run.
	kustomize *kustomization
}

const (
	chartFile  = "Chart.yaml"
	overlayDir = "overlays/"
	// fetchedDir holds charts that were fetched when the bundle was made.
	fetchedDir = ".chart/"
)

// NeedsFetch says whether the chart of a bundle has to be fetched: its options name one by repository or URL, and it does
// not come with the files.
func NeedsFetch(files []content.File, options fleet.BundleDeploymentOptions) bool {
	helm := options.Helm
	if helm == nil || (helm.Repo == "" && !IsRemote(helm.Chart)) {
		return false
	}
	_, found := chartFolder(files, helm)
	return !found
}

// IsRemote says whether the name of a chart is an address.
func IsRemote(chartName string) bool {
	for _, scheme := range []string{"oci://", "http://", "https://"} {
		if strings.HasPrefix(chartName, scheme) {
			return true
		}
	}
	return false
}

// Prepare makes a bundle ready to be rendered. Its style follows from what is there: a chart where there is a Chart.yaml,
// kustomize where there is a kustomization, else plain manifests.
func Prepare(in Input) (*Bundle, error) {
	if len(in.Files) == 0 && in.Fetched == nil {
		return nil, errors.New("the content of the bundle has no files: nothing is deployed, and nothing removed, for an empty content")
	}
	files, err := applyOverlays(in.Files, overlays(in.Options))
	if err != nil {
		return nil, err
	}
	b := &Bundle{}
	b.kustomize, err = findKustomization(files, in.Options.Kustomize)
	if err != nil {
		return nil, err
	}
	if err := b.findChart(files, in); err != nil {
		return nil, err
	}
	if err := annotate(b.Chart, in.Annotations); err != nil {
		return nil, err
	}
	return b, nil
}

func overlays(options fleet.BundleDeploymentOptions) []string {
	if options.YAML == nil {
		return nil
	}
	return options.YAML.Overlays
}

// findChart takes the chart of the files, or makes one.
func (b *Bundle) findChart(files []content.File, in Input) (err error) {
	if in.Fetched != nil {
		b.Chart = in.Fetched
		return nil
	}
	if folder, found := chartFolder(files, in.Options.Helm); found {
		b.Chart, err = loadChart(files, folder)
		return err
	}
	if helm := in.Options.Helm; helm != nil && helm.Chart != "" && b.kustomize == nil {
		return fmt.Errorf("helm.chart names %.120q, and the bundle has no Chart.yaml there", helm.Chart)
	}
	templates, plain := manifests(files)
	if b.kustomize == nil {
		b.plain = plain
	} else {
		templates = nil
	}
	if b.kustomize == nil && len(templates)+len(plain) == 0 {
		return errors.New("the bundle has no manifest: no .yaml, .yml or .json file, no Chart.yaml and no kustomization.yaml")
	}
	b.Chart, err = makeChart(templates, in)
	return err
}

// chartFolder is where the chart lies in the files, with a slash at its end unless it is the root.
func chartFolder(files []content.File, helm *fleet.HelmOptions) (folder string, found bool) {
	has := func(name string) bool {
		for _, file := range files {
			if file.Name == name {
				return true
			}
		}
		return false
	}
	candidates := []string{""}
	if helm != nil && helm.Chart != "" || helm != nil && helm.Repo != "" {
		candidates = []string{FetchedFolder(helm)}
		if helm.Repo == "" && !IsRemote(helm.Chart) {
			candidates = append(candidates, slashed(path.Clean(helm.Chart)))
		}
	}
	for _, candidate := range candidates {
		if has(candidate + chartFile) {
			return candidate, true
		}
	}
	return "", false
}

// FetchedFolder is where a chart lies that was fetched when the bundle was made.
func FetchedFolder(helm *fleet.HelmOptions) string {
	sum := sha256.Sum256([]byte(helm.Chart + ":" + helm.Repo + ":" + helm.Version))
	return fetchedDir + hex.EncodeToString(sum[:]) + "/"
}

func slashed(folder string) string {
	if folder == "." {
		return ""
	}
	return folder + "/"
}

// manifests picks what plain manifests are, and which of them are templates.
func manifests(files []content.File) (templates, plain []content.File) {
	foreign := foreignFolders(files)
	for _, file := range files {
		if isTemplate(file.Name) {
			templates = append(templates, file)
			continue
		}
		if isManifest(file.Name) && !isBelow(file.Name, foreign) {
			plain = append(plain, file)
		}
	}
	return templates, plain
}

// foreignFolders are those below the root that are a bundle or a chart of their own, and those of overlays.
func foreignFolders(files []content.File) []string {
	folders := []string{overlayDir, fetchedDir}
	for _, file := range files {
		folder, name := path.Split(file.Name)
		if folder != "" && (name == chartFile || isBundleFile(name)) {
			folders = append(folders, folder)
		}
	}
	return folders
}

func isBelow(name string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

func isTemplate(name string) bool { return strings.HasPrefix(name, "templates/") }

func isManifest(name string) bool {
	base := path.Base(name)
	return !isBundleFile(base) && !isKustomization(base) && isYAML(base)
}

func isYAML(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func isBundleFile(base string) bool { return base == "fleet.yaml" || base == "fleet.yml" }
