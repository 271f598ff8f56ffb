{{/* Environment of the gateway's image: of the service itself and of its commands. */}}
{{- define "moli.gateway.env" -}}
{{- $service := include "moli.gateway.service" . }}
{{- $hosts := list (include "moli.name" . | printf "%s-gateway") $service (printf "%s.cluster.local" $service) }}
{{- if .Values.gateway.ingress.enabled }}{{ $hosts = append $hosts .Values.gateway.ingress.host }}{{ end }}
{{- if .Values.gateway.route.enabled }}{{ $hosts = concat $hosts .Values.gateway.route.hostnames }}{{ end }}
- name: NODE_ENV
  value: production
- name: MOLI_HOST
  value: 0.0.0.0
- name: MOLI_PORT
  value: "8000"
- name: MOLI_PUBLIC_URL
  value: {{ .Values.gateway.publicUrl }}
- name: MOLI_INTERNAL_URL
  value: http://{{ $service }}:8000
- name: MOLI_ALLOWED_HOSTS
  value: {{ concat $hosts .Values.gateway.allowedHosts | uniq | join "," }}
{{- with .Values.gateway.trustedProxies }}
- name: MOLI_TRUSTED_PROXIES
  value: {{ join "," . }}
{{- end }}
{{ include "moli.databaseEnv" . }}
{{ include "moli.redisEnv" . }}
{{ include "moli.s3Env" . }}
- name: MOLI_UPLOAD_DIR
  value: /tmp/uploads
- name: MOLI_UPLOAD_MAX_BYTES
  value: {{ int64 .Values.gateway.uploadMaxBytes | quote }}
{{ include "moli.secretEnv" (dict "name" "MOLI_SECRET" "secret" (include "moli.secrets.name" .) "key" "root") }}
- name: MOLI_WEB_DIR
  value: /app/services/web/dist
{{- with .Values.model }}
{{- if .baseUrl }}
- name: MOLI_MODEL_BASE_URL
  value: {{ .baseUrl }}
- name: MOLI_MODEL_NAME
  value: {{ .name }}
- name: MOLI_MODEL_SCRIPTED
  value: {{ .scripted | quote }}
{{- if or .existingSecret .apiKey }}
{{ include "moli.givenSecretEnv" (dict "ctx" $ "name" "MOLI_MODEL_API_KEY" "of" . "key" "apiKey" "own" "model-api-key") }}
{{- end }}
{{- end }}
{{- end }}
- name: MOLI_SHUTDOWN_SECONDS
  value: {{ .Values.gateway.drainSeconds | quote }}
{{ include "moli.commonEnv" (dict "ctx" . "service" "gateway" "options" "--max-semi-space-size=16") }}
{{- with .Values.gateway.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "moli.gateway.service" -}}
{{ include "moli.name" . }}-gateway.{{ .Release.Namespace }}.svc
{{- end }}

{{/* What both services read: (dict "ctx" $ "service" "gateway") */}}
{{- define "moli.commonEnv" -}}
- name: MOLI_LOG_LEVEL
  value: {{ .ctx.Values.logLevel }}
{{- if .ctx.Values.trustedCaSecret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/moli/trusted-ca/ca.crt
{{- end }}
{{- with .ctx.Values.otel.endpoint }}
- name: MOLI_OTLP_ENDPOINT
  value: {{ . }}
# Loaded before the service, or nothing could be traced; costs half a second of the start. The rest are the image's own options.
- name: NODE_OPTIONS
  value: {{ $.options }} --import=/app/services/{{ $.service }}/dist/otel.js
{{- end }}
{{- end }}

{{- define "moli.gateway.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .Values.postgres.caSecret }}
- { name: postgres-ca, mountPath: /etc/moli/postgres-ca, readOnly: true }
{{- end }}
{{- if .Values.s3.caSecret }}
- { name: s3-ca, mountPath: /etc/moli/s3-ca, readOnly: true }
{{- end }}
{{- if .Values.trustedCaSecret }}
- { name: trusted-ca, mountPath: /etc/moli/trusted-ca, readOnly: true }
{{- end }}
{{- end }}

{{- define "moli.gateway.volumes" -}}
# Parts of uploads on their way to the object store, and large forms.
- name: tmp
  emptyDir: { sizeLimit: 2Gi }
{{- with .Values.postgres.caSecret }}
- name: postgres-ca
  secret: { secretName: {{ . }} }
{{- end }}
{{- with .Values.s3.caSecret }}
- name: s3-ca
  secret: { secretName: {{ . }} }
{{- end }}
{{- with .Values.trustedCaSecret }}
- name: trusted-ca
  secret: { secretName: {{ . }} }
{{- end }}
{{- end }}

{{/* A container of the gateway's image that runs one command: (dict "ctx" $ "name" "migrate" "args" (list …)) */}}
{{- define "moli.gateway.command" -}}
- name: {{ .name }}
  image: {{ include "moli.image" (dict "ctx" .ctx "name" "gateway") }}
  imagePullPolicy: {{ .ctx.Values.image.pullPolicy }}
  args: {{ toJson .args }}
  securityContext: {{- include "moli.containerSecurity" .ctx | nindent 4 }}
  resources:
    requests: { cpu: 50m, memory: 128Mi }
    limits: { memory: 512Mi }
  volumeMounts: {{- include "moli.gateway.mounts" .ctx | nindent 4 }}
{{- end }}
