{{/* Registry to put before every image, with a trailing slash; empty where there is none. */}}
{{- define "fleet.registry" -}}
{{- with ((.Values.global).cattle).systemDefaultRegistry -}}
{{ trimSuffix "/" . }}/
{{- end -}}
{{- end -}}

{{/* An image: dict "root" the chart's context, "image" a value with repository and tag. */}}
{{- define "fleet.image" -}}
{{ include "fleet.registry" .root }}{{ .image.repository }}:{{ .image.tag }}
{{- end -}}

{{/* Namespace of import accounts and credential secrets, derived as the controller derives it. */}}
{{- define "fleet.registrationNamespace" -}}
{{- include "fleet.siblingNamespace" (list .Release.Namespace "-clusters-system") -}}
{{- end -}}

{{/* Namespace of the accounts of registered agents, derived as the controller derives it. */}}
{{- define "fleet.agentsNamespace" -}}
{{- include "fleet.siblingNamespace" (list .Release.Namespace "-agents-system") -}}
{{- end -}}

{{- define "fleet.siblingNamespace" -}}
{{- $system := first . -}}
{{- $suffix := last . -}}
{{- if contains "-system" $system -}}
{{ $system | replace "-system" $suffix }}
{{- else -}}
{{ $system }}{{ $suffix }}
{{- end -}}
{{- end -}}

{{/* Labels that select the controller's pods. They never change: a Deployment's selector cannot. */}}
{{- define "fleet.selectorLabels" -}}
app: fleet-controller
fleet.cattle.io/shard-id: ""
{{- end -}}

{{/* Labels of the controller's pods: the chart's own go before extraLabels. */}}
{{- define "fleet.podLabels" -}}
{{- $own := include "fleet.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "fleet.cattle.io/shard-default" "true" -}}
{{- toYaml (merge $own (deepCopy (default dict (.Values.extraLabels).fleetController))) -}}
{{- end -}}

{{- define "fleet.nodeSelector" -}}
{{- toYaml (merge (dict "kubernetes.io/os" "linux") (deepCopy (default dict .Values.nodeSelector))) -}}
{{- end -}}

{{- define "fleet.tolerations" -}}
{{- $linux := dict "key" "cattle.io/os" "operator" "Equal" "value" "linux" "effect" "NoSchedule" -}}
{{- toYaml (concat (list $linux) (default list .Values.tolerations)) -}}
{{- end -}}

{{/* Resources of the container: its own key of the value, even an empty one, goes before limits and requests. */}}
{{- define "fleet.resources" -}}
{{- $all := default dict .Values.resources -}}
{{- $own := get $all "fleetController" -}}
{{- if kindIs "map" $own -}}
{{- toYaml $own -}}
{{- else -}}
{{- toYaml (pick $all "limits" "requests") -}}
{{- end -}}
{{- end -}}

{{/* A whole number, 0 included: list of a value and of what holds where it is not set. */}}
{{- define "fleet.count" -}}
{{- if kindIs "invalid" (first .) -}}
{{ last . }}
{{- else -}}
{{ first . | int }}
{{- end -}}
{{- end -}}

{{/* Whether the API server has a kind: list of the chart's context and group/version/Kind. Where no cluster was asked, as
for "helm template", the version of Kubernetes decides: both kinds that are looked for came with 1.30 at the latest. */}}
{{- define "fleet.serves" -}}
{{- $capabilities := (first .).Capabilities -}}
{{- if $capabilities.APIVersions.Has (last .) -}}
true
{{- else if not ($capabilities.APIVersions.Has "v1/Namespace") -}}
{{- if semverCompare ">=1.30.0-0" $capabilities.KubeVersion.Version -}}
true
{{- end -}}
{{- end -}}
{{- end -}}
