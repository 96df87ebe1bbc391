{{/* Environment of the agent. A variable of extraEnv replaces the chart's own of that name: a list with both could not be
applied on the server's side. */}}
{{- define "fleet-agent.env" -}}
{{- $given := include "fleet-agent.givenEnv" . | fromYamlArray -}}
{{- $replaced := list -}}
{{- range $given -}}
{{- $replaced = append $replaced .name -}}
{{- end -}}
{{- $env := list -}}
{{- range (include "fleet-agent.ownEnv" . | fromYamlArray) -}}
{{- if not (has .name $replaced) -}}
{{- $env = append $env . -}}
{{- end -}}
{{- end -}}
{{- toYaml (concat $env $given) -}}
{{- end -}}

{{/* What the agent has in every mode, in the order in which the hub writes it. */}}
{{- define "fleet-agent.ownEnv" -}}
{{- $workers := default dict ((.Values.agent).reconciler).workers -}}
{{- $election := default dict .Values.leaderElection -}}
- name: BUNDLEDEPLOYMENT_RECONCILER_WORKERS
  value: {{ include "fleet-agent.count" (list $workers.bundledeployment 50) | quote }}
- name: DRIFT_RECONCILER_WORKERS
  value: {{ include "fleet-agent.count" (list $workers.drift 50) | quote }}
- name: NAMESPACE
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.namespace
- name: AGENT_SCOPE
  value: ""
- name: CHECKIN_INTERVAL
  value: {{ toString (default "15m" .Values.agentCheckinInterval) | quote }}
- name: CATTLE_ELECTION_LEASE_DURATION
  value: {{ toString (default "30s" $election.leaseDuration) | quote }}
- name: CATTLE_ELECTION_RETRY_PERIOD
  value: {{ toString (default "10s" $election.retryPeriod) | quote }}
- name: CATTLE_ELECTION_RENEW_DEADLINE
  value: {{ toString (default "25s" $election.renewDeadline) | quote }}
- name: HEARTBEAT_INTERVAL
  value: {{ toString (default "60s" .Values.agentHeartbeatInterval) | quote }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.name
{{- end -}}

{{/* What the values add: the proxy, and extraEnv, which goes before it. */}}
{{- define "fleet-agent.givenEnv" -}}
{{- $extra := default list .Values.extraEnv -}}
{{- $replaced := list -}}
{{- range $extra -}}
{{- $replaced = append $replaced .name -}}
{{- end -}}
{{- $env := list -}}
{{- with .Values.proxy -}}
{{- $proxy := dict "HTTP_PROXY" . "HTTPS_PROXY" . "NO_PROXY" (default "" $.Values.noProxy) -}}
{{- range list "HTTP_PROXY" "HTTPS_PROXY" "NO_PROXY" -}}
{{- if not (has . $replaced) -}}
{{- $env = append $env (dict "name" . "value" (get $proxy .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.proxyCACert -}}
{{- if not (has "PROXY_CA_BUNDLE" $replaced) -}}
{{- $env = append $env (dict "name" "PROXY_CA_BUNDLE" "value" .) -}}
{{- end -}}
{{- end -}}
{{- toYaml (concat $env $extra) -}}
{{- end -}}
