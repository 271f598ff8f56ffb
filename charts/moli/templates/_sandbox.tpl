{{/* Names of the pools' Deployments, as a JSON list. */}}
{{- define "moli.sandbox.pools" -}}
{{- $pools := list }}
{{- range $name := keys .Values.sandbox.profiles | sortAlpha }}{{ $pools = append $pools (printf "moli-sandbox-%s" $name) }}{{ end }}
{{- toJson $pools }}
{{- end }}

{{/* What must be out of a courier's reach, beside the API server, the node and the outside, which it knows by itself, and its neighbours and Redis, which its executor names. */}}
{{- define "moli.sandbox.forbiddenTargets" -}}
{{- $targets := list (printf "%s:8000" (include "moli.gateway.service" .)) }}
{{- if .Values.eval.enabled }}
{{- $targets = append $targets (printf "%s-postgres.%s.svc:5432" (include "moli.name" .) .Release.Namespace) }}
{{- else }}
{{- $server := include "moli.postgres.server" . | splitList "/" | first }}
{{- $targets = append $targets (contains ":" $server | ternary $server (printf "%s:5432" $server)) }}
{{- end }}
{{- concat $targets .Values.sandbox.forbiddenTargets | join "," }}
{{- end }}

{{/* Bytes of a quantity such as 256Mi. */}}
{{- define "moli.bytes" -}}
{{- $units := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 }}
{{- $text := toString . }}
{{- $unit := regexFind "[KMG]i$" $text }}
{{- mul (regexFind "^[0-9]+" $text | int64) (ternary (get $units $unit | default 1) 1 (ne $unit "") | int64) }}
{{- end }}
