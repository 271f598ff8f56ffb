{{/* What the schema cannot say: values that depend on each other. Each message begins with the name of the value. */}}
{{- define "moli.validate" -}}
{{- $values := .Values }}
{{- $faults := list }}
{{- if not .Values.eval.enabled }}
{{- with .Values.postgres }}
{{- if not (or .url .existingSecret) }}{{ $faults = append $faults "postgres.url: give it, or postgres.existingSecret, or eval.enabled=true to try Moli" }}{{ end }}
{{- if and .existingSecret (not .server) }}{{ $faults = append $faults "postgres.server: needed with postgres.existingSecret, host:port/database" }}{{ end }}
{{- end }}
{{- with .Values.redis }}
{{- if not (or .url .existingSecret) }}{{ $faults = append $faults "redis.url: give it, or redis.existingSecret, or eval.enabled=true to try Moli" }}{{ end }}
{{- end }}
{{- with .Values.s3 }}
{{- if not .endpoint }}{{ $faults = append $faults "s3.endpoint: give it, or eval.enabled=true to try Moli" }}{{ end }}
{{- if not (or .existingSecret (and .accessKey .secretKey)) }}{{ $faults = append $faults "s3.accessKey: give it and s3.secretKey, or s3.existingSecret" }}{{ end }}
{{- if and .caSecret (not .ca) }}{{ $faults = append $faults "s3.ca: needed with s3.caSecret, the same certificate in PEM for the sandbox namespace" }}{{ end }}
{{- $host := regexReplaceAll ":[0-9]+$" (urlParse .endpoint).host "" }}
{{- if and .endpoint $values.networkPolicy.enabled (not $values.networkPolicy.s3.to) (not (regexMatch "^[0-9]+(\\.[0-9]+){3}$" $host)) }}
{{- $faults = append $faults "networkPolicy.s3.to: s3.endpoint is a name, and a NetworkPolicy knows only addresses and selectors; give the peers of the S3 server" }}
{{- end }}
{{- end }}
{{- else }}
{{- range tuple "postgres" "redis" }}
{{- with get $values . }}{{ if or .url .existingSecret }}{{ $faults = append $faults "eval.enabled: brings Postgres, Redis and S3 of its own; take away postgres, redis and s3" }}{{ end }}{{ end }}
{{- end }}
{{- if .Values.secrets.existingSecret }}{{ $faults = append $faults "secrets.existingSecret: not with eval.enabled, which needs more passwords in it" }}{{ end }}
{{- end }}
{{- with .Values.executor.tls }}
{{- if and .existingSecret .certManager.enabled }}{{ $faults = append $faults "executor.tls.existingSecret: not together with executor.tls.certManager.enabled" }}{{ end }}
{{- if and (or .existingSecret .certManager.enabled) (not .ca) }}{{ $faults = append $faults "executor.tls.ca: needed when the certificate is not made by the chart; couriers check the executor against it" }}{{ end }}
{{- if and .certManager.enabled (not .certManager.issuerRef) }}{{ $faults = append $faults "executor.tls.certManager.issuerRef: name the issuer" }}{{ end }}
{{- end }}
{{- if and .Values.model.baseUrl (not .Values.model.name) }}{{ $faults = append $faults "model.name: needed with model.baseUrl" }}{{ end }}
{{- with .Values.gateway }}
{{- if and .ingress.enabled (not .ingress.host) }}{{ $faults = append $faults "gateway.ingress.host: needed with gateway.ingress.enabled" }}{{ end }}
{{- if and .route.enabled (not .route.parentRefs) }}{{ $faults = append $faults "gateway.route.parentRefs: name the Gateway" }}{{ end }}
{{- end }}
{{- range $name, $profile := .Values.sandbox.profiles }}
{{- if gt (int $profile.min) (int $profile.max) }}{{ $faults = append $faults (printf "sandbox.profiles.%s.min: over sandbox.profiles.%s.max" $name $name) }}{{ end }}
{{- end }}
{{- if eq (include "moli.sandbox.namespace" .) .Release.Namespace }}{{ $faults = append $faults "sandbox.namespace: not that of the release; nothing else may live beside sandboxes" }}{{ end }}
{{- if and (eq .Values.seccomp.install "spo") (not (hasPrefix "operator/" .Values.seccomp.localhostProfile)) }}
{{- $faults = append $faults (printf "seccomp.localhostProfile: with seccomp.install=spo it is operator/%s/moli-sandbox.json" (include "moli.sandbox.namespace" .)) }}
{{- end }}
{{- if $faults }}{{ fail (printf "\n\n%s\n" (uniq $faults | join "\n")) }}{{ end }}
{{- end }}
