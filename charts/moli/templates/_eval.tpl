{{/* Servers of eval.enabled: (dict "ctx" $ "component" "eval-postgres" "uid" 999) */}}
{{- define "moli.eval.annotations" -}}
moli.dev/warning: Not for production. One copy, no backup; made by eval.enabled=true.
{{- end }}

{{- define "moli.eval.storage" -}}
{{- with .Values.eval.persistence }}
{{- if .enabled }}
volumeClaimTemplates:
  - metadata: { name: data }
    spec:
      accessModes: [ReadWriteOnce]
      {{- with .storageClassName }}
      storageClassName: {{ . }}
      {{- end }}
      resources: { requests: { storage: {{ .size }} } }
{{- end }}
{{- end }}
{{- end }}

{{- define "moli.eval.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 1Gi }
{{- if not .Values.eval.persistence.enabled }}
- name: data
  emptyDir: { sizeLimit: {{ .Values.eval.persistence.size }} }
{{- end }}
{{- end }}

{{/* The parts of a StatefulSet that all three share: (dict "ctx" $ "component" … "name" … "uid" …) */}}
{{- define "moli.eval.head" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ include "moli.name" .ctx }}-{{ .name }}
  namespace: {{ .ctx.Release.Namespace }}
  labels: {{- include "moli.labels" (dict "ctx" .ctx "component" .component) | nindent 4 }}
  annotations: {{- include "moli.eval.annotations" .ctx | nindent 4 }}
spec:
  # One, always: none of the three is set up for a second copy.
  replicas: 1
  serviceName: {{ include "moli.name" .ctx }}-{{ .name }}
  selector:
    matchLabels: {{- include "moli.selector" .  | nindent 6 }}
  {{- include "moli.eval.storage" .ctx | nindent 2 }}
{{- end }}

{{- define "moli.eval.pod" -}}
metadata:
  # Without the version: an upgrade of Moli must not restart a server whose data may end with its Pod.
  labels:
    {{- include "moli.selector" . | nindent 4 }}
    moli.dev/not-for-production: "true"
  annotations: {{- include "moli.eval.annotations" .ctx | nindent 4 }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- include "moli.pullSecrets" .ctx | nindent 2 }}
  securityContext: {{- include "moli.podSecurity" (dict "uid" .uid) | nindent 4 }}
{{- end }}

{{/* Service and NetworkPolicy: (dict "ctx" $ "component" … "name" … "port" 5432 "from" <peers as YAML>) */}}
{{- define "moli.eval.door" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "moli.name" .ctx }}-{{ .name }}
  namespace: {{ .ctx.Release.Namespace }}
  labels: {{- include "moli.labels" (dict "ctx" .ctx "component" .component) | nindent 4 }}
  annotations: {{- include "moli.eval.annotations" .ctx | nindent 4 }}
spec:
  selector: {{- include "moli.selector" . | nindent 4 }}
  ports:
    - { name: {{ .name }}, port: {{ .port }}, targetPort: {{ .port }} }
{{- if .ctx.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "moli.name" .ctx }}-{{ .name }}
  namespace: {{ .ctx.Release.Namespace }}
  labels: {{- include "moli.labels" (dict "ctx" .ctx "component" .component) | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "moli.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports: [{ protocol: TCP, port: {{ .port }} }]
      from: {{- .from | nindent 8 }}
{{- end }}
{{- end }}
