{{/* The container and volumes of a component or the migration; of (dict "root" . "process" component). */}}
{{- define "aag.container" -}}
{{- $values := .root.Values -}}
{{- $process := .process -}}
name: {{ $process.name }}
image: {{ include "aag.image" .root | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
args:
  {{- toYaml $process.args | nindent 2 }}
securityContext:
  {{- include "aag.containerSecurity" . | nindent 2 }}
env:
  {{- include "aag.fixedEnv" . | trim | nindent 2 }}
  {{- range $process.settings }}
  {{- $text := include "aag.setting" (dict "root" $.root "name" .) }}
  {{- if eq . "BASE_URL" }}{{ $text = include "aag.baseUrl" $.root }}{{ end }}
  {{- if $text }}
  - name: {{ . }}
    value: {{ $text | quote }}
  {{- end }}
  {{- end }}
  {{- if and $process.readsTemplates $values.templatesVolume }}
  - name: TEMPLATES_DIR
    value: /templates
  {{- end }}
  {{- if $process.hasProviderApps }}
  {{- range $provider, $clientId := $values.providerApps.clientIds }}
  {{- $variable := printf "OAUTH_%s_CLIENT" ($provider | upper | replace "-" "_") }}
  - name: {{ $variable }}_ID
    value: {{ $clientId | quote }}
  {{- if $values.providerApps.secret }}
  - name: {{ $variable }}_SECRET_FILE
    value: /run/provider-apps/{{ $provider }}
  {{- end }}
  {{- end }}
  {{- end }}
  {{- with include "aag.extraEnv" . }}
  {{- . | nindent 2 }}
  {{- end }}
resources:
  {{- toYaml (index $values.components $process.name).resources | nindent 2 }}
volumeMounts:
  {{- include "aag.mounts" . | trim | nindent 2 }}
  {{- if and $process.readsTemplates $values.templatesVolume }}
  - name: templates
    mountPath: /templates
    readOnly: true
  {{- end }}
  {{- if and $process.hasProviderApps $values.providerApps.secret }}
  - name: provider-apps
    mountPath: /run/provider-apps
    readOnly: true
  {{- end }}
  {{- with (include "aag.podValues" . | fromYaml).extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "aag.componentVolumes" -}}
{{ include "aag.volumes" . | trim }}
{{- if and .process.readsTemplates .root.Values.templatesVolume }}
- name: templates
  {{- toYaml .root.Values.templatesVolume | nindent 2 }}
{{- end }}
{{- if and .process.hasProviderApps .root.Values.providerApps.secret }}
- name: provider-apps
  secret:
    secretName: {{ .root.Values.providerApps.secret | quote }}
    defaultMode: 288
{{- end }}
{{- with (include "aag.podValues" . | fromYaml).extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The variables of the operator. They must not be those of the program, which come from settings, Secrets and the chart alone. */}}
{{- define "aag.extraEnv" -}}
{{- $model := .root.Files.Get "model.yaml" | fromYaml -}}
{{- $extraEnv := (include "aag.podValues" . | fromYaml).extraEnv -}}
{{- range $variable := $extraEnv -}}
{{- $isSetting := has .name $model.settingVariables -}}
{{- range $model.settingFamilies -}}
{{- $isSetting = or $isSetting (regexMatch . (trimSuffix "_FILE" $variable.name)) -}}
{{- end -}}
{{- if $isSetting }}{{ fail (printf "pod.extraEnv or components.%s.pod.extraEnv sets %s, which belongs to the gateway itself: its settings stand under settings, its secrets in Secrets, and the chart sets the rest." $.process.name .name) }}{{ end -}}
{{- end -}}
{{- with $extraEnv }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* Seconds from the signal to stop until the pod is killed: SHUTDOWN_PAUSE_SECONDS and 35, or as compose says. */}}
{{- define "aag.stopSeconds" -}}
{{- $pause := include "aag.setting" (dict "root" .root "name" "SHUTDOWN_PAUSE_SECONDS") -}}
{{- if and $pause (has "SHUTDOWN_PAUSE_SECONDS" .process.settings) -}}
{{- /* int would read 020 as 16. */ -}}
{{ add (atoi $pause) 35 }}
{{- else -}}
{{ .process.stopSeconds }}
{{- end -}}
{{- end -}}
