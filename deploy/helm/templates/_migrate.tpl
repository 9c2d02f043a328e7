{{/*
The migration, which must have run before the components of a release start; of (dict "root" . "process" migrate). It is a
hook, except in an evaluation, whose servers are part of the release: there the components start again until it has run.
*/}}
{{- define "aag.migrate" -}}
{{- $root := .root -}}
{{- $process := .process -}}
{{- $isHook := not $root.Values.evaluation.enabled -}}
{{- $name := printf "%s-migrate" (include "aag.name" $root) -}}
{{- $hook := dict -}}
{{- if $isHook -}}
{{- $hook = dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" -}}
{{- else -}}
{{- $name = printf "%s-%d" $name (int $root.Release.Revision) -}}
{{- end -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "aag.metadata" (dict "root" $root "name" $process.name "object" $name "annotations" $hook) | nindent 2 }}
spec:
  backoffLimit: {{ if $isHook }}3{{ else }}20{{ end }}
  activeDeadlineSeconds: 3600
  template:
    metadata:
      {{- include "aag.podMetadata" . | nindent 6 }}
    spec:
      restartPolicy: {{ if $isHook }}Never{{ else }}OnFailure{{ end }}
      # A hook runs before the service accounts of the release exist; it has no token of this one.
      serviceAccountName: {{ (index $root.Values.components "migrate").serviceAccount.name | default "default" | quote }}
      {{- include "aag.podBasics" . | nindent 6 }}
      securityContext:
        {{- include "aag.podSecurity" . | nindent 8 }}
      containers:
        -
          {{- include "aag.container" . | nindent 10 }}
      volumes:
        {{- include "aag.componentVolumes" . | nindent 8 }}
{{- if $root.Values.networkPolicy.enabled }}
---
{{ include "aag.networkPolicy" (dict "root" $root "process" $process "isHook" $isHook) }}
{{- end }}
{{- end -}}
