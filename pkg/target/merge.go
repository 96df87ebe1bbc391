package target

import (
	"maps"
	"slices"
	"strings"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// reset is what a target writes to have nothing where the bundle has something.
const reset = "-"

// Merge puts the options of a target over those of the bundle. It shares nothing with either. A plain boolean is true where
// one of them says so: the type cannot tell false from absent.
func Merge(base, custom fleet.BundleDeploymentOptions) fleet.BundleDeploymentOptions {
	result, over := *base.DeepCopy(), *custom.DeepCopy()
	override(&result.DefaultNamespace, over.DefaultNamespace)
	override(&result.TargetNamespace, over.TargetNamespace)
	override(&result.ServiceAccount, over.ServiceAccount)
	if over.YAML != nil {
		if result.YAML == nil {
			result.YAML = &fleet.YAMLOptions{}
		}
		result.YAML.Overlays = append(result.YAML.Overlays, over.YAML.Overlays...)
	}
	if over.Kustomize != nil && over.Kustomize.Dir != "" {
		result.Kustomize = over.Kustomize
	}
	if over.Helm != nil {
		if result.Helm == nil {
			result.Helm = &fleet.HelmOptions{}
		}
		mergeHelm(result.Helm, over.Helm)
	}
	if over.CreateNamespace != nil {
		result.CreateNamespace = over.CreateNamespace
	}
	if over.ForceSyncGeneration > 0 {
		result.ForceSyncGeneration = over.ForceSyncGeneration
	}
	mergeComparison(&result, over)
	result.KeepResources = result.KeepResources || over.KeepResources
	result.DeleteNamespace = result.DeleteNamespace || over.DeleteNamespace
	result.DeleteCRDResources = result.DeleteCRDResources || over.DeleteCRDResources
	if over.CorrectDrift != nil {
		result.CorrectDrift = over.CorrectDrift
	}
	result.NamespaceLabels = union(result.NamespaceLabels, over.NamespaceLabels)
	result.NamespaceAnnotations = union(result.NamespaceAnnotations, over.NamespaceAnnotations)
	result.DownstreamResources = mergeByKey(result.DownstreamResources, over.DownstreamResources, func(r fleet.DownstreamResource) string {
		return key(strings.ToLower(r.Kind), r.Name)
	})
	return result
}

// mergeComparison merges how a cluster is compared with what was applied.
func mergeComparison(result *fleet.BundleDeploymentOptions, over fleet.BundleDeploymentOptions) {
	if over.Diff != nil {
		if result.Diff == nil {
			result.Diff = &fleet.DiffOptions{}
		}
		result.Diff.ComparePatches = mergeByKey(result.Diff.ComparePatches, over.Diff.ComparePatches, func(p fleet.ComparePatch) string {
			return key(p.APIVersion, p.Kind, p.Namespace, p.Name)
		})
	}
	if over.IgnoreOptions != nil {
		if result.IgnoreOptions == nil {
			result.IgnoreOptions = &fleet.IgnoreOptions{}
		}
		for _, condition := range over.IgnoreOptions.Conditions {
			same := func(other map[string]string) bool { return maps.Equal(condition, other) }
			if !slices.ContainsFunc(result.IgnoreOptions.Conditions, same) {
				result.IgnoreOptions.Conditions = append(result.IgnoreOptions.Conditions, condition)
			}
		}
	}
}

func override(value *string, by string) {
	switch by {
	case "":
	case reset:
		*value = ""
	default:
		*value = by
	}
}

// union puts the second map over the first. Two empty ones give nil.
func union(first, second map[string]string) map[string]string {
	if len(first)+len(second) == 0 {
		return nil
	}
	all := maps.Clone(first)
	if all == nil {
		all = make(map[string]string, len(second))
	}
	maps.Copy(all, second)
	return all
}

// mergeByKey keeps the order: an element takes the place of the one with its key, others are appended.
func mergeByKey[T any](list, over []T, keyOf func(T) string) []T {
	for _, element := range over {
		same := func(other T) bool { return keyOf(other) == keyOf(element) }
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i] = element
		} else {
			list = append(list, element)
		}
	}
	return list
}

// key joins parts that cannot hold the separator.
func key(parts ...string) string { return strings.Join(parts, "\x00") }
