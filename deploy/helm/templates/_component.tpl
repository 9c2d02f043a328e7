{{/* All objects of a component; of (dict "root" . "process" component). */}}
{{- define "aag.component" -}}
{{- $root := .root -}}
{{- $process := .process -}}
{{- $own := index $root.Values.components $process.name -}}
{{- $name := printf "%s-%s" (include "aag.name" $root) $process.name -}}
{{- $identity := dict "root" $root "name" $process.name -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  labels:
    {{- include "aag.labels" $identity | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "aag.labels" $identity | nindent 4 }}
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
      {{- include "aag.podMetadata" $identity | nindent 6 }}
    spec:
      serviceAccountName: {{ $name }}
      {{- include "aag.podBasics" . | nindent 6 }}
      # A component takes itself off the bus, and what a Service leads to waits SHUTDOWN_PAUSE_SECONDS by itself.
      terminationGracePeriodSeconds: {{ include "aag.stopSeconds" . }}
      securityContext:
        {{- include "aag.podSecurity" $process | nindent 8 }}
      topologySpreadConstraints:
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "aag.selector" $identity | nindent 14 }}
        {{- end }}
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
  name: {{ $name }}
  labels:
    {{- include "aag.labels" $identity | nindent 4 }}
spec:
  maxUnavailable: 1
  # A pod that is not ready serves nobody, so it must not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "aag.selector" $identity | nindent 6 }}
{{- with $process.listens }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels:
    {{- include "aag.labels" $identity | nindent 4 }}
spec:
  type: ClusterIP
  selector:
    {{- include "aag.selector" $identity | nindent 4 }}
  # The port of the pods: components that call out know the gateway and auth by it, and never call them.
  ports:
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .name }}
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
  name: {{ $name }}
  labels:
    {{- include "aag.labels" $identity | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ $name }}
  minReplicas: {{ int .minReplicas }}
  maxReplicas: {{ int .maxReplicas }}
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
