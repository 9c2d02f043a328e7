{{/* The values under pod of a component, server or the migration; of (dict "root" . "process" process). Its own replace those of all pods, except that labels and annotations are merged, and the lists of extra… are joined. */}}
{{- define "aag.podValues" -}}
{{- $own := (index .root.Values.components .process.name | default dict).pod | default dict -}}
{{- $values := dict -}}
{{- /* A key that is null in one of the two is missing there. */ -}}
{{- range $key := concat (keys .root.Values.pod) (keys $own) | uniq -}}
{{- $common := get $.root.Values.pod $key -}}
{{- $value := get $own $key | default $common -}}
{{- if has $key (list "labels" "annotations") -}}
{{- $value = mergeOverwrite dict ($common | default dict) (get $own $key | default dict) -}}
{{- else if hasPrefix "extra" $key -}}
{{- $value = get $own $key | default list -}}
{{- $replaced := list -}}
{{- range $value }}{{ $replaced = append $replaced (.mountPath | default .name) }}{{ end -}}
{{- range reverse ($common | default list) -}}
{{- if not (has (.mountPath | default .name) $replaced) }}{{ $value = prepend $value . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $values $key $value -}}
{{- end -}}
{{ toYaml $values }}
{{- end -}}

{{/* The metadata of a pod; of (dict "root" . "process" process). */}}
{{- define "aag.podMetadata" -}}
{{- $pod := include "aag.podValues" . | fromYaml -}}
labels:
  {{- include "aag.labels" (dict "root" .root "name" .process.name "labels" $pod.labels) | nindent 2 }}
annotations:
  # A pod reads its secrets when it starts. A new value here starts all pods again.
  agent-action-gateway/secrets-revision: {{ .root.Values.secrets.revision | toString | quote }}
  {{- with mergeOverwrite dict (.root.Values.commonAnnotations | default dict) ($pod.annotations | default dict) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* What every pod says of itself; of (dict "root" . "process" process). */}}
{{- define "aag.podBasics" -}}
{{- $pod := include "aag.podValues" . | fromYaml -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- $spread := $pod.topologySpreadConstraints | default list -}}
{{- if and .process.healthPort (not $spread) -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" -}}
{{- $spread = append $spread (dict "maxSkew" 1 "topologyKey" . "whenUnsatisfiable" "ScheduleAnyway") -}}
{{- end -}}
{{- end -}}
{{- with $spread }}
{{- $selector := include "aag.selector" (dict "root" $.root "name" $.process.name) | fromYaml }}
topologySpreadConstraints:
  {{- range . }}
  -
    {{- hasKey . "labelSelector" | ternary . (set (deepCopy .) "labelSelector" (dict "matchLabels" $selector)) | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}
