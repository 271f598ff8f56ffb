{{- define "moli.executor.service" -}}
{{ include "moli.name" . }}-executor.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "moli.executor.tlsSecret" -}}
{{ .Values.executor.tls.existingSecret | default (printf "%s-executor-tls" (include "moli.name" .)) }}
{{- end }}

{{/* Weakest isolation that a sandbox may report. */}}
{{- define "moli.sandbox.strength" -}}
{{ ternary "landlock+seccomp" "userns+landlock+seccomp" .Values.sandbox.allowWeakerIsolation }}
{{- end }}

{{/* A run needs Redis, the API server for its own namespace, and couriers: no database, no object store, no root secret. */}}
{{- define "moli.executor.env" -}}
{{- $profiles := dict }}
{{- range $name, $profile := .Values.sandbox.profiles }}
{{- $_ := set $profiles $name (dict "min" (int $profile.min) "max" (int $profile.max)) }}
{{- end }}
- name: NODE_ENV
  value: production
- name: MOLI_RUNNER
  value: kubernetes
- name: MOLI_EXECUTOR_HOST
  value: 0.0.0.0
- name: MOLI_EXECUTOR_PORT
  value: "8100"
- name: MOLI_COURIER_PORT
  value: "9443"
- name: MOLI_COURIER_TLS_CERT
  value: /etc/moli/tls/tls.crt
- name: MOLI_COURIER_TLS_KEY
  value: /etc/moli/tls/tls.key
- name: MOLI_SANDBOX_NAMESPACE
  value: {{ include "moli.sandbox.namespace" . }}
- name: MOLI_SANDBOX_PROFILES
  value: {{ toJson $profiles | quote }}
- name: MOLI_SANDBOX_SERVICE_ACCOUNT
  value: moli-sandbox
- name: MOLI_SANDBOX_MIN_STRENGTH
  value: {{ include "moli.sandbox.strength" . }}
- name: MOLI_SHUTDOWN_SECONDS
  value: {{ .Values.executor.drainSeconds | quote }}
{{ include "moli.redisEnv" . }}
{{ include "moli.commonEnv" (dict "ctx" . "service" "executor" "options" "--max-semi-space-size=2 --max-old-space-size=256") }}
{{- with .Values.executor.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
