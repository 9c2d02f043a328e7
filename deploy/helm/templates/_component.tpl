{{/* All objects of a component; of (dict "root" . "process" component). */}}
{{- define "aag.component" -}}
{{- $root := .root -}}
{{- $process := .process -}}
{{- $own := index $root.Values.components $process.name -}}
{{- $name := printf "%s-%s" (include "aag.name" $root) $process.name -}}
{{- $identity := dict "root" $root "name" $process.name "object" $name -}}
{{- if not $own.serviceAccount.name }}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "aag.metadata" (dict "root" $root "name" $process.name "object" $name "annotations" $own.serviceAccount.annotations) | nindent 2 }}
automountServiceAccountToken: false
---
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "aag.metadata" $identity | nindent 2 }}
spec:
  {{- if not $own.autoscaling.enabled }}
  replicas: {{ int $own.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      {{- include "aag.selector" $identity | nindent 6 }}
  template:
    metadata:
      {{- include "aag.podMetadata" . | nindent 6 }}
    spec:
      serviceAccountName: {{ $own.serviceAccount.name | default $name | quote }}
      {{- include "aag.podBasics" . | nindent 6 }}
      # A component takes itself off the bus, and what a Service leads to waits SHUTDOWN_PAUSE_SECONDS by itself.
      terminationGracePeriodSeconds: {{ include "aag.stopSeconds" . }}
      securityContext:
        {{- include "aag.podSecurity" . | nindent 8 }}
      containers:
        -
          {{- include "aag.container" . | nindent 10 }}
          ports:
            {{- with $process.listens }}
            - name: {{ .name }}
              containerPort: {{ .port }}
            {{- end }}
            - name: health
              containerPort: {{ $process.healthPort }}
          # An answer of any kind means that the process lives.
          startupProbe:
            httpGet:
              path: /health/live
              port: health
            periodSeconds: 2
            failureThreshold: 30
          livenessProbe:
            httpGet:
              path: /health/live
              port: health
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          # periodSeconds times failureThreshold stays below SHUTDOWN_PAUSE_SECONDS.
          readinessProbe:
            httpGet:
              path: /health/ready
              port: health
            periodSeconds: 3
            timeoutSeconds: 3
            failureThreshold: 2
      volumes:
        {{- include "aag.componentVolumes" . | nindent 8 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "aag.metadata" $identity | nindent 2 }}
spec:
  maxUnavailable: 1
  # A pod that is not ready serves nobody, so it must not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "aag.selector" $identity | nindent 6 }}
{{- with $process.listens }}
{{- $service := $own.service | default dict }}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "aag.metadata" (dict "root" $root "name" $process.name "object" $name "annotations" $service.annotations) | nindent 2 }}
spec:
  type: {{ $service.type | default "ClusterIP" }}
  {{- with $service.loadBalancerClass }}
  loadBalancerClass: {{ . | quote }}
  {{- end }}
  {{- with $service.loadBalancerSourceRanges }}
  loadBalancerSourceRanges:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $service.externalTrafficPolicy }}
  externalTrafficPolicy: {{ . }}
  {{- end }}
  selector:
    {{- include "aag.selector" $identity | nindent 4 }}
  # The port of the pods: components that call out know the gateway and auth by it, and never call them.
  ports:
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .name }}
      {{- with $service.nodePort }}
      nodePort: {{ int . }}
      {{- end }}
{{- end }}
{{- with $own.autoscaling }}
{{- if .enabled }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "components.%s.autoscaling: minReplicas is %d and must be maxReplicas (%d) at most." $process.name (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "aag.metadata" $identity | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ $name }}
  minReplicas: {{ int .minReplicas }}
  maxReplicas: {{ int .maxReplicas }}
  {{- with .behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  metrics:
    {{- if and $process.slots .slotsPerPod }}
    - type: Pods
      pods:
        metric:
          name: {{ .slotsMetric }}
          selector:
            matchLabels:
              pool: {{ $process.slots }}
        target:
          type: AverageValue
          averageValue: {{ int .slotsPerPod | quote }}
    {{- else }}
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ int .cpuPercent }}
    {{- end }}
{{- end }}
{{- end }}
{{- if $root.Values.networkPolicy.enabled }}
---
{{ include "aag.networkPolicy" . }}
{{- end }}
{{- end -}}
