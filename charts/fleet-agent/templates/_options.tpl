{{/* What the values change of the agent's pod, as JSON: the agent reports it when it registers, and the hub, which then
manages the Deployment, keeps it. */}}
{{- define "fleet-agent.options" -}}
{{- $options := dict -}}
{{- with include "fleet-agent.givenEnv" . | fromYamlArray -}}
{{- $_ := set $options "envVars" . -}}
{{- end -}}
{{- with (.Values.fleetAgent).tolerations -}}
{{- $_ := set $options "tolerations" . -}}
{{- end -}}
{{- if or (.Values.fleetAgent).affinity (.Values.fleetAgent).nodeSelector -}}
{{- $_ := set $options "affinity" (include "fleet-agent.reportedAffinity" . | fromJson) -}}
{{- end -}}
{{- with (.Values.fleetAgent).resources -}}
{{- $_ := set $options "resources" . -}}
{{- end -}}
{{- if eq (toString (.Values.fleetAgent).hostNetwork) "true" -}}
{{- $_ := set $options "hostNetwork" true -}}
{{- end -}}
{{- with ((.Values.global).cattle).imagePullSecrets -}}
{{- $_ := set $options "pullSecrets" . -}}
{{- end -}}
{{- toPrettyJson $options -}}
{{- end -}}

{{/* The affinity of the pod, with the node selector in every required term of it: a Cluster has no node selector. */}}
{{- define "fleet-agent.reportedAffinity" -}}
{{- $affinity := include "fleet-agent.affinity" . | fromYaml -}}
{{- $selected := list -}}
{{- range $key, $value := (.Values.fleetAgent).nodeSelector -}}
{{- $selected = append $selected (dict "key" $key "operator" "In" "values" (list (toString $value))) -}}
{{- end -}}
{{- if $selected -}}
{{- $node := default dict $affinity.nodeAffinity -}}
{{- $required := default dict $node.requiredDuringSchedulingIgnoredDuringExecution -}}
{{- $terms := list -}}
{{- range (default (list dict) $required.nodeSelectorTerms) -}}
{{- $expressions := concat (default list .matchExpressions) $selected -}}
{{- $terms = append $terms (set . "matchExpressions" $expressions) -}}
{{- end -}}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
{{- $_ := set $affinity "nodeAffinity" $node -}}
{{- end -}}
{{- toJson $affinity -}}
{{- end -}}
