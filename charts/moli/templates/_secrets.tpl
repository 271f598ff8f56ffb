{{- define "moli.secrets.name" -}}
{{ .Values.secrets.existingSecret | default (printf "%s-secrets" (include "moli.name" .)) }}
{{- end }}

{{/* Secret with values that were given in clear. */}}
{{- define "moli.connections.name" -}}
{{ include "moli.name" . }}-connections
{{- end }}

{{/* One variable from a Secret: (dict "name" "MOLI_SECRET" "secret" "moli-secrets" "key" "root") */}}
{{- define "moli.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ .secret }}, key: {{ .key }} }
{{- end }}

{{/* A variable from existingSecret when it is named, from the values given in clear otherwise: (dict "ctx" $ "name" … "of" .Values.s3 "key" … "own" …) */}}
{{- define "moli.givenSecretEnv" -}}
{{- if .of.existingSecret }}
{{- include "moli.secretEnv" (dict "name" .name "secret" .of.existingSecret "key" .key) }}
{{- else }}
{{- include "moli.secretEnv" (dict "name" .name "secret" (include "moli.connections.name" .ctx) "key" .own) }}
{{- end }}
{{- end }}

{{/* host:port/database?parameters, as which the three roles come. */}}
{{- define "moli.postgres.server" -}}
{{- if .Values.eval.enabled -}}
{{ include "moli.name" . }}-postgres:5432/moli
{{- else if .Values.postgres.server -}}
{{ .Values.postgres.server }}
{{- else -}}
{{- $url := urlParse .Values.postgres.url -}}
{{ $url.host }}{{ $url.path }}{{ with $url.query }}?{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{/* Connections of the three roles. The passwords are expanded by the kubelet and are no part of any object but the Secret. */}}
{{- define "moli.databaseEnv" -}}
{{- $secrets := include "moli.secrets.name" . }}
{{- $server := include "moli.postgres.server" . }}
{{- range $role := list "app" "log" "auth" }}
{{ include "moli.secretEnv" (dict "name" (printf "PASSWORD_%s" (upper $role)) "secret" $secrets "key" $role) }}
{{- end }}
- name: MOLI_DATABASE_URL
  value: postgres://moli_app:$(PASSWORD_APP)@{{ $server }}
- name: MOLI_DATABASE_LOG_URL
  value: postgres://moli_log:$(PASSWORD_LOG)@{{ $server }}
- name: MOLI_DATABASE_AUTH_URL
  value: postgres://moli_auth:$(PASSWORD_AUTH)@{{ $server }}
{{- if .Values.postgres.caSecret }}
- name: MOLI_DATABASE_CA_FILE
  value: /etc/moli/postgres-ca/ca.crt
{{- end }}
{{- end }}

{{- define "moli.databaseOwnerEnv" -}}
{{- if .Values.eval.enabled }}
{{- include "moli.secretEnv" (dict "name" "PASSWORD_OWNER" "secret" (include "moli.secrets.name" .) "key" "postgres") }}
- name: MOLI_DATABASE_OWNER_URL
  value: postgres://postgres:$(PASSWORD_OWNER)@{{ include "moli.postgres.server" . }}
{{- else }}
{{- include "moli.givenSecretEnv" (dict "ctx" . "name" "MOLI_DATABASE_OWNER_URL" "of" .Values.postgres "key" .Values.postgres.key "own" "postgres-url") }}
{{- end }}
{{- end }}

{{- define "moli.redisEnv" -}}
{{- if .Values.eval.enabled }}
{{- include "moli.secretEnv" (dict "name" "PASSWORD_REDIS" "secret" (include "moli.secrets.name" .) "key" "redis") }}
- name: MOLI_REDIS_URL
  value: redis://:$(PASSWORD_REDIS)@{{ include "moli.name" . }}-redis:6379
{{- else }}
{{- include "moli.givenSecretEnv" (dict "ctx" . "name" "MOLI_REDIS_URL" "of" .Values.redis "key" .Values.redis.key "own" "redis-url") }}
{{- end }}
{{- end }}

{{/* Gateways and sandbox Pods, in two namespaces, use the same address: it is signed into links. */}}
{{- define "moli.s3.endpoint" -}}
{{- if .Values.eval.enabled -}}
http://{{ include "moli.name" . }}-s3.{{ .Release.Namespace }}.svc:8333
{{- else -}}
{{ .Values.s3.endpoint | trimSuffix "/" }}
{{- end -}}
{{- end }}

{{- define "moli.s3Env" -}}
- name: MOLI_OBJECTS
  value: s3
- name: MOLI_S3_ENDPOINT
  value: {{ include "moli.s3.endpoint" . }}
{{- with .Values.s3.publicEndpoint }}
- name: MOLI_S3_PUBLIC_ENDPOINT
  value: {{ . }}
{{- end }}
- name: MOLI_S3_REGION
  value: {{ .Values.s3.region }}
- name: MOLI_S3_BUCKET
  value: {{ .Values.s3.bucket }}
- name: MOLI_S3_PATH_STYLE
  value: {{ or .Values.eval.enabled .Values.s3.pathStyle | quote }}
- name: MOLI_S3_ENCRYPTION
  value: {{ .Values.s3.encryption }}
{{- if .Values.s3.caSecret }}
- name: MOLI_S3_CA_FILE
  value: /etc/moli/s3-ca/ca.crt
{{- end }}
{{- if .Values.eval.enabled }}
{{- $secrets := include "moli.secrets.name" . }}
{{ include "moli.secretEnv" (dict "name" "MOLI_S3_ACCESS_KEY" "secret" $secrets "key" "s3-access-key") }}
{{ include "moli.secretEnv" (dict "name" "MOLI_S3_SECRET_KEY" "secret" $secrets "key" "s3-secret-key") }}
{{- else }}
{{ include "moli.givenSecretEnv" (dict "ctx" . "name" "MOLI_S3_ACCESS_KEY" "of" .Values.s3 "key" "accessKey" "own" "s3-access-key") }}
{{ include "moli.givenSecretEnv" (dict "ctx" . "name" "MOLI_S3_SECRET_KEY" "of" .Values.s3 "key" "secretKey" "own" "s3-secret-key") }}
{{- end }}
{{- end }}

{{/* Values given in clear, by the key of the Secret that the chart makes of them. */}}
{{- define "moli.connections.data" -}}
{{- $data := dict }}
{{- if not .Values.eval.enabled }}
{{- if not .Values.postgres.existingSecret }}{{ $_ := set $data "postgres-url" .Values.postgres.url }}{{ end }}
{{- if not .Values.redis.existingSecret }}{{ $_ := set $data "redis-url" .Values.redis.url }}{{ end }}
{{- if not .Values.s3.existingSecret }}
{{- $_ := set $data "s3-access-key" .Values.s3.accessKey }}
{{- $_ := set $data "s3-secret-key" .Values.s3.secretKey }}
{{- end }}
{{- end }}
{{- if and .Values.model.apiKey (not .Values.model.existingSecret) }}{{ $_ := set $data "model-api-key" .Values.model.apiKey }}{{ end }}
{{- toYaml $data }}
{{- end }}
