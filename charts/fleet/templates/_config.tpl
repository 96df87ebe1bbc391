{{/* The given keys of a map as JSON texts: dict "from" the map, "keys" a list. What is not set is left out, so that the
controller's default holds. */}}
{{- define "fleet.texts" -}}
{{- $texts := dict -}}
{{- $from := default dict .from -}}
{{- range .keys -}}
{{- if not (kindIs "invalid" (index $from .)) -}}
{{- $_ := set $texts . (toString (index $from .)) -}}
{{- end -}}
{{- end -}}
{{- toJson $texts -}}
{{- end -}}

{{/* The controller's configuration, as JSON: other programs read and patch it. */}}
{{- define "fleet.config" -}}
{{- $durations := list "agentCheckinInterval" "agentHeartbeatInterval" "gitClientTimeout" "clusterOnDeleteTimeout" -}}
{{- if .Values.garbageCollectionInterval -}}
{{- $durations = append $durations "garbageCollectionInterval" -}}
{{- end -}}
{{- $config := include "fleet.texts" (dict "from" .Values "keys" $durations) | fromJson -}}
{{- $_ := set $config "agentImage" (include "fleet.image" (dict "root" . "image" .Values.agentImage)) -}}
{{- $_ := set $config "agentImagePullPolicy" (default "" .Values.agentImage.imagePullPolicy) -}}
{{- $_ := set $config "systemDefaultRegistry" (include "fleet.registry" .) -}}
{{- $_ := set $config "imagePullSecrets" (default list ((.Values.global).cattle).imagePullSecrets) -}}
{{- $_ := set $config "apiServerURL" (default "" .Values.apiServerURL) -}}
{{- $_ := set $config "apiServerCA" (b64enc (default "" .Values.apiServerCA)) -}}
{{- $_ := set $config "agentTLSMode" (default "system-store" .Values.agentTLSMode) -}}
{{- $_ := set $config "ignoreClusterRegistrationLabels" (eq (toString .Values.ignoreClusterRegistrationLabels) "true") -}}
{{- if not (kindIs "invalid" .Values.manageAgent) -}}
{{- $_ := set $config "manageAgent" (ne (toString .Values.manageAgent) "false") -}}
{{- end -}}
{{- $_ := set $config "webhookReceiverURL" (default "" .Values.webhookReceiverURL) -}}
{{- $_ := set $config "githubURLPrefix" (default "" .Values.githubURLPrefix) -}}
{{- $_ := set $config "clusterOnDelete" (default "keep" .Values.clusterOnDelete) -}}
{{- $_ := set $config "bootstrap" (include "fleet.config.bootstrap" . | fromJson) -}}
{{- $workers := dict "from" ((.Values.agent).reconciler).workers "keys" (list "bundledeployment" "drift") -}}
{{- $_ := set $config "agentWorkers" (include "fleet.texts" $workers | fromJson) -}}
{{- $credential := dict "from" .Values.agentCredential "keys" (list "lifetime" "agentInitiatedLifetime" "onShortLifetime") -}}
{{- $_ := set $config "agentCredential" (include "fleet.texts" $credential | fromJson) -}}
{{- $registration := include "fleet.texts" (dict "from" .Values.registration "keys" (list "ttlUngranted")) | fromJson -}}
{{- if not (kindIs "invalid" (.Values.registration).maxUngranted) -}}
{{- $_ := set $registration "maxUngranted" (int (.Values.registration).maxUngranted) -}}
{{- end -}}
{{- if (.Values.registration).maxUses -}}
{{- $_ := set $registration "maxUses" (int (.Values.registration).maxUses) -}}
{{- end -}}
{{- $_ := set $registration "requireIdentity" (eq (toString (.Values.registration).requireIdentity) "true") -}}
{{- $_ := set $registration "strictLabels" (eq (toString (.Values.registration).strictLabels) "true") -}}
{{- $_ := set $config "registration" $registration -}}
{{- $_ := set $config "agentUpgrade" (include "fleet.config.agentUpgrade" . | fromJson) -}}
{{- toPrettyJson $config -}}
{{- end -}}

{{- define "fleet.config.bootstrap" -}}
{{- $from := default dict .Values.bootstrap -}}
{{- $labels := dict -}}
{{- range $key, $value := $from.clusterLabels -}}
{{- $_ := set $labels $key (toString $value) -}}
{{- end -}}
{{- $keys := list "namespace" "agentNamespace" "repo" "secret" "branch" "paths" -}}
{{- $bootstrap := include "fleet.texts" (dict "from" $from "keys" $keys) | fromJson -}}
{{- $_ := set $bootstrap "localAgentDisabled" (eq (toString $from.localAgentDisabled) "true") -}}
{{- $_ := set $bootstrap "clusterLabels" $labels -}}
{{- toJson $bootstrap -}}
{{- end -}}

{{- define "fleet.config.agentUpgrade" -}}
{{- $from := default dict .Values.agentUpgrade -}}
{{- $upgrade := include "fleet.texts" (dict "from" $from "keys" (list "soak")) | fromJson -}}
{{- $_ := set $upgrade "canary" $from.canary -}}
{{- if not (kindIs "invalid" $from.maxUnavailable) -}}
{{- $_ := set $upgrade "maxUnavailable" $from.maxUnavailable -}}
{{- end -}}
{{- toJson $upgrade -}}
{{- end -}}
