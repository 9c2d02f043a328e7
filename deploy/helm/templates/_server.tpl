{{/* A Postgres or NATS of its own, for an evaluation; of (dict "root" . "process" server). */}}
{{- define "aag.server" -}}
{{- $root := .root -}}
{{- $process := .process -}}
{{- $own := index $root.Values.evaluation $process.name -}}
{{- $name := printf "%s-%s" (include "aag.name" $root) $process.name -}}
{{- $identity := dict "root" $root "name" $process.name "object" $name -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "aag.metadata" $identity | nindent 2 }}
spec:
  type: ClusterIP
  selector:
    {{- include "aag.selector" $identity | nindent 4 }}
  ports:
    - name: {{ $process.name }}
      port: {{ $process.port }}
      targetPort: {{ $process.name }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  {{- include "aag.metadata" $identity | nindent 2 }}
spec:
  replicas: 1
  serviceName: {{ $name }}
  selector:
    matchLabels:
      {{- include "aag.selector" $identity | nindent 6 }}
  template:
    metadata:
      {{- include "aag.podMetadata" . | nindent 6 }}
    spec:
      serviceAccountName: default
      {{- include "aag.podBasics" . | nindent 6 }}
      terminationGracePeriodSeconds: {{ $process.stopSeconds }}
      securityContext:
        {{- include "aag.podSecurity" . | nindent 8 }}
      {{- with $process.file }}
      initContainers:
        - name: configuration
          image: {{ include "aag.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [cp, {{ .source }}, {{ .folder }}]
          securityContext:
            {{- include "aag.containerSecurity" $ | nindent 12 }}
          resources:
            {{- toYaml $own.resources | nindent 12 }}
          volumeMounts:
            - name: configuration
              mountPath: {{ .folder }}
      {{- end }}
      containers:
        - name: {{ $process.name }}
          image: {{ $own.image | quote }}
          {{- with $process.command }}
          command:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          args:
            {{- toYaml $process.args | nindent 12 }}
          securityContext:
            {{- include "aag.containerSecurity" . | nindent 12 }}
          env:
            {{- include "aag.fixedEnv" . | trim | nindent 12 }}
          resources:
            {{- toYaml $own.resources | nindent 12 }}
          ports:
            - name: {{ $process.name }}
              containerPort: {{ $process.port }}
          readinessProbe:
            exec:
              command:
                {{- toYaml $process.healthCommand | nindent 16 }}
            periodSeconds: 5
            timeoutSeconds: 5
          volumeMounts:
            {{- include "aag.mounts" . | trim | nindent 12 }}
            - name: data
              mountPath: {{ $process.dataPath }}
            {{- with $process.file }}
            - name: configuration
              mountPath: {{ .folder }}
              readOnly: true
            {{- end }}
      volumes:
        {{- include "aag.volumes" . | trim | nindent 8 }}
        {{- if $process.file }}
        - name: configuration
          emptyDir:
            sizeLimit: 16Mi
        {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $own.storageClassName }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ $own.storage | quote }}
{{- if $root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "aag.metadata" $identity | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "aag.selector" $identity | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - port: {{ $process.port }}
      from:
        - podSelector:
            matchLabels:
              app.kubernetes.io/name: {{ $root.Chart.Name }}
              app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- end }}
{{- end -}}
