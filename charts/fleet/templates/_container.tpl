{{/* The controller's one container: all controllers run in one process. */}}
{{- define "fleet.container" -}}
name: fleet-controller
image: {{ include "fleet.image" (dict "root" . "image" .Values.image) | quote }}
imagePullPolicy: {{ default "IfNotPresent" .Values.image.imagePullPolicy }}
command: [fleetcontroller]
{{- with include "fleet.args" . | fromYamlArray }}
args:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  {{- include "fleet.env" . | nindent 2 }}
ports:
  {{- if ne (toString (.Values.metrics).enabled) "false" }}
  - name: metrics
    containerPort: 8080
    protocol: TCP
  {{- end }}
  - name: health
    containerPort: 8081
    protocol: TCP
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  initialDelaySeconds: 10
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 5
  timeoutSeconds: 5
{{- with include "fleet.resources" . | fromYaml }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if ne (toString .Values.disableSecurityContext) "true" }}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- define "fleet.args" -}}
{{- $args := list -}}
{{- if eq (toString (.Values.bootstrap).enabled) "false" -}}
{{- $args = append $args "--disable-bootstrap" -}}
{{- end -}}
{{- if eq (toString (.Values.metrics).enabled) "false" -}}
{{- $args = append $args "--disable-metrics" -}}
{{- end -}}
{{- if eq (toString .Values.debug) "true" -}}
{{- $args = concat $args (list "--debug" "--debug-level" (int .Values.debugLevel | toString)) -}}
{{- end -}}
{{- toYaml $args -}}
{{- end -}}
