{{/* Who may reach a component or the migration, and what it may reach; of (dict "root" . "process" component). It is a hook before the hook of the migration where isHook is set. */}}
{{- define "aag.networkPolicy" -}}
{{- $root := .root -}}
{{- $process := .process -}}
{{- $policy := $root.Values.networkPolicy -}}
{{- $collector := include "aag.setting" (dict "root" $root "name" "OTEL_EXPORTER_OTLP_ENDPOINT") -}}
{{- $name := printf "%s-%s" (include "aag.name" $root) $process.name -}}
{{- $identity := dict "root" $root "name" $process.name -}}
{{- $hook := dict -}}
{{- if .isHook -}}
{{- $hook = dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" "-1" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" -}}
{{- end -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "aag.metadata" (dict "root" $root "name" $process.name "object" $name "annotations" $hook) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "aag.selector" $identity | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- if or $process.listens (and $process.healthPort $root.Values.monitoring.podMonitor.enabled) }}
  ingress:
    {{- with $process.listens }}
    - ports:
        - port: {{ .port }}
      {{- if .callers }}
      from:
        {{- range .callers }}
        - podSelector:
            matchLabels:
              {{- include "aag.selector" (dict "root" $root "name" .) | nindent 14 }}
        {{- end }}
      {{- else if $policy.clients }}
      from:
        {{- toYaml $policy.clients | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- if and $process.healthPort $root.Values.monitoring.podMonitor.enabled }}
    - ports:
        - port: {{ $process.healthPort }}
      {{- with $policy.prometheus }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
  {{- end }}
  egress:
    - ports:
        {{- range $policy.dns.ports }}
        - port: {{ int . }}
          protocol: UDP
        - port: {{ int . }}
          protocol: TCP
        {{- end }}
      {{- with $policy.dns.to }}
      to:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- if $process.usesBus }}
    {{- include "aag.egressToServer" (dict "root" $root "name" "nats" "rule" $policy.nats) | nindent 4 }}
    {{- end }}
    {{- if $process.usesDatabase }}
    {{- include "aag.egressToServer" (dict "root" $root "name" "postgres" "rule" $policy.postgres) | nindent 4 }}
    {{- end }}
    {{- range $process.calls }}
    - ports:
        - port: {{ .port }}
      to:
        - podSelector:
            matchLabels:
              {{- include "aag.selector" (dict "root" $root "name" .name) | nindent 14 }}
    {{- end }}
    {{- if and $collector $process.healthPort }}
    - ports:
        {{- range $policy.collector.ports | default (list (include "aag.portOf" $collector)) }}
        - port: {{ int . }}
        {{- end }}
      {{- with $policy.collector.to }}
      to:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- if $process.callsOut }}
    # The internet: neither private addresses nor those at which clouds give out credentials.
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except:
              {{- range list "0.0.0.0/8" "10.0.0.0/8" "100.64.0.0/10" "127.0.0.0/8" "168.63.129.16/32" "169.254.0.0/16" "172.16.0.0/12" "192.0.0.0/24" "192.168.0.0/16" "198.18.0.0/15" "224.0.0.0/4" "240.0.0.0/4" }}
              - {{ . }}
              {{- end }}
              {{- with $policy.internetExcept.ipv4 }}
              {{- toYaml . | nindent 14 }}
              {{- end }}
        - ipBlock:
            cidr: 2000::/3
            {{- with $policy.internetExcept.ipv6 }}
            except:
              {{- toYaml . | nindent 14 }}
            {{- end }}
    {{- with $policy.privateUpstreams }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- end }}
{{- end -}}

{{/* The port of a URL of http or https. */}}
{{- define "aag.portOf" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (eq $url.scheme "https" | ternary "443" "80") -}}
{{- end -}}

{{/* An egress rule for Postgres or NATS: that of an evaluation, else the one of the operator. */}}
{{- define "aag.egressToServer" -}}
- ports:
    {{- range .rule.ports }}
    - port: {{ int . }}
    {{- end }}
  {{- if .root.Values.evaluation.enabled }}
  to:
    - podSelector:
        matchLabels:
          {{- include "aag.selector" . | nindent 10 }}
  {{- else if .rule.to }}
  to:
    {{- toYaml .rule.to | nindent 4 }}
  {{- end }}
{{- end -}}
