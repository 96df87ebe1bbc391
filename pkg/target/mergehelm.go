package target

import (
	"cmp"
	"maps"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// mergeHelm puts the options of a target over those of the bundle. Neither is used by others.
func mergeHelm(result, over *fleet.HelmOptions) {
	result.Chart = cmp.Or(over.Chart, result.Chart)
	result.Repo = cmp.Or(over.Repo, result.Repo)
	result.Version = cmp.Or(over.Version, result.Version)
	result.ReleaseName = cmp.Or(over.ReleaseName, result.ReleaseName)
	mergeNumber(&result.TimeoutSeconds, over.TimeoutSeconds)
	mergeNumber(&result.MaxHistory, over.MaxHistory)
	if over.Values != nil && over.Values.Data != nil {
		if result.Values == nil {
			result.Values = &fleet.GenericMap{}
		}
		result.Values.Data = mergeValues(result.Values.Data, over.Values.Data)
	}
	if len(over.TemplateValues) > 0 {
		if result.TemplateValues == nil {
			result.TemplateValues = map[string]string{}
		}
		maps.Copy(result.TemplateValues, over.TemplateValues)
	}
	result.ValuesFrom = mergeByKey(result.ValuesFrom, over.ValuesFrom, valuesFromKey)
	for flag, also := range map[*bool]bool{
		&result.Force:                   over.Force,
		&result.TakeOwnership:           over.TakeOwnership,
		&result.WaitForJobs:             over.WaitForJobs,
		&result.Atomic:                  over.Atomic,
		&result.DisablePreProcess:       over.DisablePreProcess,
		&result.DisableDNS:              over.DisableDNS,
		&result.SkipSchemaValidation:    over.SkipSchemaValidation,
		&result.DisableDependencyUpdate: over.DisableDependencyUpdate,
	} {
		*flag = *flag || also
	}
}

// mergeNumber takes a number above 0; one below it resets.
func mergeNumber(value *int, by int) {
	if by != 0 {
		*value = max(by, 0)
	}
}

func valuesFromKey(v fleet.ValuesFrom) string {
	const defaultKey = "values.yaml"
	var parts []string
	if ref := v.ConfigMapKeyRef; ref != nil {
		parts = append(parts, "configmap", ref.Namespace, ref.Name, cmp.Or(ref.Key, defaultKey))
	}
	if ref := v.SecretKeyRef; ref != nil {
		parts = append(parts, "secret", ref.Namespace, ref.Name, cmp.Or(ref.Key, defaultKey))
	}
	return key(parts...)
}

// mergeValues puts values over others: maps go into each other, all else is replaced, as Helm does it. null stays, because
// it takes a chart's default away.
func mergeValues(values, over map[string]any) map[string]any {
	if values == nil {
		values = make(map[string]any, len(over))
	}
	for name, value := range over {
		below, isMap := value.(map[string]any)
		if under, wasMap := values[name].(map[string]any); isMap && wasMap {
			values[name] = mergeValues(under, below)
			continue
		}
		values[name] = value
	}
	return values
}
