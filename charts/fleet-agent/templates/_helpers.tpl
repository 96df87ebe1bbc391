{{- define "fleet-agent.image" -}}
{{- with ((.Values.global).cattle).systemDefaultRegistry -}}
{{ trimSuffix "/" . }}/
{{- end -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end -}}

{{- define "fleet-agent.nodeSelector" -}}
{{- toYaml (merge (dict "kubernetes.io/os" "linux") (deepCopy (default dict (.Values.fleetAgent).nodeSelector))) -}}
{{- end -}}

{{- define "fleet-agent.tolerations" -}}
{{- $new := dict "key" "node.cloudprovider.kubernetes.io/uninitialized" "operator" "Equal" "value" "true" "effect" "NoSchedule" -}}
{{- $linux := dict "key" "cattle.io/os" "operator" "Equal" "value" "linux" "effect" "NoSchedule" -}}
{{- toYaml (concat (list $new $linux) (default list (.Values.fleetAgent).tolerations)) -}}
{{- end -}}

{{- define "fleet-agent.affinity" -}}
{{- with (.Values.fleetAgent).affinity -}}
{{- toYaml . -}}
{{- else -}}
nodeAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 1
      preference:
        matchExpressions:
          - key: fleet.cattle.io/agent
            operator: In
            values: ["true"]
{{- end -}}
{{- end -}}

{{- define "fleet-agent.command" -}}
{{- $command := list "fleetagent" -}}
{{- if eq (toString .Values.debug) "true" -}}
{{- $command = concat $command (list "--debug" "--debug-level" (int .Values.debugLevel | toString)) -}}
{{- end -}}
{{- toYaml $command -}}
{{- end -}}

{{/* A whole number, 0 included: list of a value and of what holds where it is not set. */}}
{{- define "fleet-agent.count" -}}
{{- if kindIs "invalid" (first .) -}}
{{ last . }}
{{- else -}}
{{ first . | int }}
{{- end -}}
{{- end -}}
