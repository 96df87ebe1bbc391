{{/* Environment of the controller. A variable of extraEnv replaces the chart's own of that name: a list with both could
not be applied on the server's side. */}}
{{- define "fleet.env" -}}
{{- $extra := default list .Values.extraEnv -}}
{{- $replaced := list -}}
{{- range $extra -}}
{{- $replaced = append $replaced .name -}}
{{- end -}}
{{- $env := list -}}
{{- range (include "fleet.ownEnv" . | fromYamlArray) -}}
{{- if not (has .name $replaced) -}}
{{- $env = append $env . -}}
{{- end -}}
{{- end -}}
{{- toYaml (concat $env $extra) -}}
{{- end -}}

{{- define "fleet.ownEnv" -}}
- name: NAMESPACE
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.name
{{ include "fleet.electionEnv" (dict "prefix" "CATTLE_ELECTION" "from" .Values.leaderElection) }}
{{ include "fleet.electionEnv" (dict "prefix" "FLEET_AGENT_ELECTION" "from" (.Values.agent).leaderElection) }}
- name: FLEET_AGENT_REPLICA_COUNT
  value: {{ include "fleet.count" (list (.Values.agent).replicas 1) | quote }}
- name: FLEET_REGISTRATION_TOKEN_TTL_REQUIRED
  value: {{ eq (toString ((.Values.controller).registrationTokenTTL).required) "true" | quote }}
- name: FLEET_PROPAGATE_DEBUG_SETTINGS_TO_AGENTS
  value: {{ ne (toString .Values.propagateDebugSettingsToAgents) "false" | quote }}
- name: FLEET_DEBUG_DISABLE_SECURITY_CONTEXT
  value: {{ eq (toString .Values.disableSecurityContext) "true" | quote }}
{{ include "fleet.workersEnv" . }}
{{- if not (kindIs "invalid" .Values.clusterEnqueueDelay) }}
- name: FLEET_CLUSTER_ENQUEUE_DELAY
  value: {{ toString .Values.clusterEnqueueDelay | quote }}
{{- end }}
{{- with .Values.proxy }}
- name: HTTP_PROXY
  value: {{ quote . }}
- name: HTTPS_PROXY
  value: {{ quote . }}
- name: NO_PROXY
  value: {{ default "" $.Values.noProxy | quote }}
{{- end }}
{{- with .Values.proxyCACert }}
- name: PROXY_CA_BUNDLE
  value: {{ quote . }}
{{- end }}
{{- end -}}

{{/* Three variables of a leader election: dict "prefix", "from" the value. Without them the programs' defaults hold. */}}
{{- define "fleet.electionEnv" -}}
{{- $from := default dict .from -}}
- name: {{ .prefix }}_LEASE_DURATION
  value: {{ toString (default "30s" $from.leaseDuration) | quote }}
- name: {{ .prefix }}_RENEW_DEADLINE
  value: {{ toString (default "25s" $from.renewDeadline) | quote }}
- name: {{ .prefix }}_RETRY_PERIOD
  value: {{ toString (default "10s" $from.retryPeriod) | quote }}
{{- end -}}

{{- define "fleet.workersEnv" -}}
{{- $workers := default dict ((.Values.controller).reconciler).workers -}}
{{- range list "gitrepo" "bundle" "bundledeployment" "cluster" "clustergroup" "imagescan" "schedule" "content" }}
- name: {{ upper . }}_RECONCILER_WORKERS
  value: {{ include "fleet.count" (list (index $workers .) 50) | quote }}
{{- end }}
{{- end -}}
