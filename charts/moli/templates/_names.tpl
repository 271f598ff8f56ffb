{{/* Start of every name: the release, with "moli" in it. */}}
{{- define "moli.name" -}}
{{- if contains "moli" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-moli" (.Release.Name | trunc 35 | trimSuffix "-") }}{{ end -}}
{{- end }}

{{- define "moli.sandbox.namespace" -}}
{{ .Values.sandbox.namespace | default (printf "%s-sandbox" .Release.Namespace) }}
{{- end }}

{{/* Of objects without a namespace: two releases must not meet. */}}
{{- define "moli.clusterName" -}}
{{ .Release.Namespace }}-{{ include "moli.name" . }}
{{- end }}

{{/* What selects Pods; never changes. (dict "ctx" $ "component" "gateway") */}}
{{- define "moli.selector" -}}
app.kubernetes.io/name: moli
app.kubernetes.io/instance: {{ .ctx.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "moli.labels" -}}
{{ include "moli.selector" . }}
app.kubernetes.io/part-of: moli
app.kubernetes.io/version: {{ include "moli.tag" .ctx | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/managed-by: {{ .ctx.Release.Service }}
{{- if hasPrefix "eval-" .component }}
moli.dev/not-for-production: "true"
{{- end }}
{{- end }}

{{- define "moli.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* (dict "ctx" $ "image" "postgres:18") */}}
{{- define "moli.imageOf" -}}
{{ with .ctx.Values.image.registry }}{{ . | trimSuffix "/" }}/{{ end }}{{ .image }}
{{- end }}

{{/* (dict "ctx" $ "name" "gateway") */}}
{{- define "moli.image" -}}
{{ include "moli.imageOf" (dict "ctx" .ctx "image" (printf "moli/%s:%s" .name (include "moli.tag" .ctx))) }}
{{- end }}

{{- define "moli.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where a Pod may be placed. (dict "of" .Values.gateway) */}}
{{- define "moli.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* Replicas on different nodes and zones as far as possible. */}}
{{- define "moli.spread" -}}
topologySpreadConstraints:
{{- $selector := include "moli.selector" . }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- $selector | nindent 8 }}
{{- end }}
{{- end }}

{{/* Of a Pod: (dict "uid" 10000) */}}
{{- define "moli.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .uid }}
runAsGroup: {{ .uid }}
fsGroup: {{ .uid }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "moli.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
