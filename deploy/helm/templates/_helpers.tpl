{{/* The name of the installation, with which the names of all objects begin. */}}
{{- define "aag.name" -}}
{{- $name := .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "The names of all objects would begin with %q, which is no name of a Service: set fullnameOverride to one of lower-case letters, digits and hyphens that begins with a letter." $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* The labels by which an object is found; of (dict "root" . "name" component). They never change. */}}
{{- define "aag.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .name }}
{{- end -}}

{{- define "aag.ownLabels" -}}
{{ include "aag.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The labels of an object or pod: those of the chart, and those of the operator; of (dict "root" . "name" component "labels" labels for this object). */}}
{{- define "aag.labels" -}}
{{- $own := include "aag.ownLabels" . -}}
{{- $more := mergeOverwrite dict (.root.Values.commonLabels | default dict) (.labels | default dict) -}}
{{- range $label, $_ := $more -}}
{{- if hasKey (fromYaml $own) $label }}{{ fail (printf "The chart itself sets the label %s: remove it from your labels." $label) }}{{ end -}}
{{- end -}}
{{ $own }}
{{- with $more }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The metadata of an object; of (dict "root" . "object" its name "name" component "labels" … "annotations" …), where the last two may be missing. */}}
{{- define "aag.metadata" -}}
name: {{ .object | quote }}
labels:
  {{- include "aag.labels" . | nindent 2 }}
{{- with mergeOverwrite dict (.root.Values.commonAnnotations | default dict) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "aag.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The value of a setting as text; of (dict "root" . "name" setting). Helm reads numbers as floats. */}}
{{- define "aag.setting" -}}
{{- $value := index .root.Values.settings .name -}}
{{- if kindIs "float64" $value -}}
{{- if eq (floor $value) $value }}{{ int64 $value }}{{ else }}{{ $value }}{{ end -}}
{{- else if not (kindIs "invalid" $value) -}}
{{ $value }}
{{- end -}}
{{- end -}}

{{/* The address that people use. */}}
{{- define "aag.baseUrl" -}}
{{- $url := include "aag.setting" (dict "root" . "name" "BASE_URL") -}}
{{- if $url -}}
{{ $url }}
{{- else if .Values.evaluation.enabled -}}
http://127.0.0.1:8080
{{- else -}}
{{- fail "Set settings.BASE_URL to the address that people use, such as https://gateway.example.com." -}}
{{- end -}}
{{- end -}}

{{/* The host of that address, for which the ingress or the route takes requests. */}}
{{- define "aag.host" -}}
{{- required "settings.BASE_URL has no host: set it to an address such as https://gateway.example.com." (urlParse (include "aag.baseUrl" .)).hostname | lower -}}
{{- end -}}

{{/* The Secret of a component; of (dict "root" . "name" component). */}}
{{- define "aag.secret" -}}
{{- if .root.Values.evaluation.enabled -}}
{{- if .root.Values.secrets.prefix }}{{ fail "evaluation.enabled makes its own keys and passwords: leave secrets.prefix empty." }}{{ end -}}
{{ include "aag.name" .root }}-{{ .name }}
{{- else -}}
{{ required "Set secrets.prefix: the chart makes no keys. `npm run --silent secrets -- --kubernetes` prints a Secret for each component, whose names begin with agent-action-gateway (docs/kubernetes.md#secrets). To try the gateway with keys and servers of its own, set evaluation.enabled." .root.Values.secrets.prefix }}-{{ .name }}
{{- end -}}
{{- end -}}

{{/* Nothing of a pod runs as root, becomes root or has a capability; of (dict "root" . "process" process). */}}
{{- define "aag.podSecurity" -}}
runAsNonRoot: true
{{- if .root.Values.podSecurity.numericUser }}
runAsUser: {{ .process.user }}
runAsGroup: {{ .process.user }}
fsGroup: {{ .process.user }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "aag.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The folders that any process gets; of (dict "root" . "process" process). */}}
{{- define "aag.mounts" -}}
{{- range $path, $size := .process.temporary }}
- name: {{ include "aag.volumeName" $path }}
  mountPath: {{ $path }}
{{- end }}
- name: secrets
  mountPath: /run/secrets
  readOnly: true
{{- end -}}

{{- define "aag.volumes" -}}
{{- range $path, $size := .process.temporary }}
- name: {{ include "aag.volumeName" $path }}
  emptyDir:
    {{- if eq $path "/dev/shm" }}
    medium: Memory
    {{- end }}
    sizeLimit: {{ $size }}
{{- end }}
- name: secrets
  secret:
    secretName: {{ include "aag.secret" (dict "root" .root "name" .process.name) | quote }}
    # 0440: the group is fsGroup.
    defaultMode: 288
    items:
      {{- range .process.secrets }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
{{- end -}}

{{/* /var/run/x is the volume var-run-x. */}}
{{- define "aag.volumeName" -}}
{{ . | trimPrefix "/" | replace "/" "-" }}
{{- end -}}

{{/* The variables of a process that compose fixes. */}}
{{- define "aag.fixedEnv" -}}
{{- range $variable, $text := .process.fixed }}
- name: {{ $variable }}
  value: {{ $text | replace "{release}" (include "aag.name" $.root) | quote }}
{{- end }}
{{- end -}}
