{{/* One rule of egress: (dict "to" [] "ports" (list 5432)). Without peers: any address but link-local ones, where clouds keep their metadata. */}}
{{- define "moli.egress" -}}
- to:
    {{- if .to }}
    {{- toYaml .to | nindent 4 }}
    {{- else }}
    - namespaceSelector: {}
    - ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16] }
    - ipBlock: { cidr: "::/0", except: ["fe80::/10"] }
    {{- end }}
  ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}

{{- define "moli.egress.dns" -}}
- to: {{- toYaml .Values.networkPolicy.dns.to | nindent 4 }}
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end }}

{{/* Pods of one of our components: (dict "ctx" $ "components" (list "gateway")) */}}
{{- define "moli.peers" -}}
- podSelector:
    matchLabels:
      app.kubernetes.io/name: moli
      app.kubernetes.io/instance: {{ .ctx.Release.Name }}
    matchExpressions:
      - { key: app.kubernetes.io/component, operator: In, values: {{ toJson .components }} }
  namespaceSelector:
    matchLabels: { kubernetes.io/metadata.name: {{ .namespace | default .ctx.Release.Namespace }} }
{{- end }}

{{/* Port of a URL or of host:port/…, with a default. (dict "url" … "default" 443) */}}
{{- define "moli.portOf" -}}
{{- $host := contains "://" .url | ternary (urlParse .url).host (splitList "/" .url | first) }}
{{- regexFind ":[0-9]+$" $host | trimPrefix ":" | default (toString .default) }}
{{- end }}

{{- define "moli.egress.postgres" -}}
{{- $of := .Values.networkPolicy.postgres }}
{{- if .Values.eval.enabled }}
{{- include "moli.egress" (dict "to" (include "moli.peers" (dict "ctx" . "components" (list "eval-postgres")) | fromYamlArray) "ports" (list 5432)) }}
{{- else }}
{{- include "moli.egress" (dict "to" $of.to "ports" (list (int $of.port | default (include "moli.portOf" (dict "url" (include "moli.postgres.server" .) "default" 5432))))) }}
{{- end }}
{{- end }}

{{- define "moli.egress.redis" -}}
{{- $of := .Values.networkPolicy.redis }}
{{- if .Values.eval.enabled }}
{{- include "moli.egress" (dict "to" (include "moli.peers" (dict "ctx" . "components" (list "eval-redis")) | fromYamlArray) "ports" (list 6379)) }}
{{- else }}
{{- include "moli.egress" (dict "to" $of.to "ports" (list (int $of.port | default (include "moli.portOf" (dict "url" .Values.redis.url "default" 6379))))) }}
{{- end }}
{{- end }}

{{/* For sandboxes too, so it never opens more than the server: an address in s3.endpoint is its own rule. */}}
{{- define "moli.egress.s3" -}}
{{- $of := .Values.networkPolicy.s3 }}
{{- $url := urlParse .Values.s3.endpoint }}
{{- $host := regexReplaceAll ":[0-9]+$" $url.host "" }}
{{- if .Values.eval.enabled }}
{{- include "moli.egress" (dict "to" (include "moli.peers" (dict "ctx" . "components" (list "eval-s3")) | fromYamlArray) "ports" (list 8333)) }}
{{- else }}
{{- $to := $of.to | default (list (dict "ipBlock" (dict "cidr" (printf "%s/32" $host)))) }}
{{- $port := include "moli.portOf" (dict "url" .Values.s3.endpoint "default" (ternary 80 443 (eq $url.scheme "http"))) }}
{{- include "moli.egress" (dict "to" $to "ports" (list (int $of.port | default $port))) }}
{{- end }}
{{- end }}
