{{/* (dict "ctx" $ "profile" "python" "of" .Values.sandbox.profiles.python) */}}
{{- define "moli.sandbox.pod" -}}
{{- $ctx := .ctx }}
{{- $values := .ctx.Values.sandbox }}
{{- $courierBytes := add (include "moli.bytes" $values.courier.resources.limits.memory | int64) (include "moli.bytes" .of.outbox | int64) }}
serviceAccountName: moli-sandbox
automountServiceAccountToken: false
enableServiceLinks: false
{{- include "moli.pullSecrets" $ctx }}
{{- with $values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- if not (kindIs "invalid" $values.hostUsers) }}
hostUsers: {{ $values.hostUsers }}
{{- end }}
{{- include "moli.placement" $values }}
# A Pod that is ended finishes its run first: the longest one, and bringing away what it made.
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  fsGroup: 10001
  # The group of the folder is right from the start; nothing has to be walked.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
initContainers:
  # A sidecar in Kubernetes' sense: it starts first and is ended last, after the courier has brought its run to the end. Both at once would kill the
  # program of a Pod that an upgrade or a drained node takes away. Without its seccomp profile the kubelet refuses it, and the Pod never becomes ready.
  - name: sandbox
    restartPolicy: Always
    image: {{ include "moli.image" (dict "ctx" $ctx "name" "sandbox") }}
    imagePullPolicy: {{ $ctx.Values.image.pullPolicy }}
    args: [--state, /run/moli, --pod, --min-strength, {{ include "moli.sandbox.strength" $ctx }}, --preload, {{ .of.preload | default "core" }}]
    securityContext:
      {{- include "moli.containerSecurity" $ctx | nindent 6 }}
      runAsUser: 10001
      runAsGroup: 10001
      # The profile of Moli: it permits the trusted monitor to take namespaces of its own, which RuntimeDefault refuses, and user code less than that.
      seccompProfile: { type: Localhost, localhostProfile: {{ $ctx.Values.seccomp.localhostProfile }} }
      {{- with $values.appArmorProfile }}
      appArmorProfile: { type: Localhost, localhostProfile: {{ . }} }
      {{- end }}
      {{- with $values.seLinuxType }}
      seLinuxOptions: { type: {{ . }} }
      {{- end }}
    resources:
      requests: {{- include "moli.sandbox.resources" .of.requests | nindent 8 }}
      limits: {{- include "moli.sandbox.resources" .of.limits | nindent 8 }}
    # By a command: the kubelet needs no way into the Pod's network. Each look starts a process in the Pod, so the first one waits for the sandbox to say
    # how it is, and the next are rare: the courier knows without them.
    readinessProbe:
      exec:
        command:
          - /usr/bin/python3
          - -I
          - -S
          - -c
          - |
            import json, os, time
            while not os.path.exists('/run/moli/ready.json'):
                time.sleep(0.1)
            assert json.load(open('/run/moli/ready.json'))['ready'] is True
      periodSeconds: 30
      timeoutSeconds: 30
    volumeMounts:
      - { name: run, mountPath: /run/moli }
      - { name: sandbox-tmp, mountPath: /tmp }
      {{- if $values.allowWeakerIsolation }}
      # Where the node refuses namespaces the box cannot make work folders of its own; both are the same.
      - { name: work, mountPath: /workspace }
      - { name: work, mountPath: /mnt/data }
      {{- end }}
containers:
  - name: courier
    image: {{ include "moli.image" (dict "ctx" $ctx "name" "courier") }}
    imagePullPolicy: {{ $ctx.Values.image.pullPolicy }}
    env: {{- include "moli.courier.env" . | nindent 6 }}
    securityContext:
      {{- include "moli.containerSecurity" $ctx | nindent 6 }}
      runAsUser: 10002
      runAsGroup: 10001
    lifecycle:
      # Runs are taken until the successor is up. The executor's own deletions do not wait for it.
      preStop: { sleep: { seconds: 10 } }
    resources:
      requests: {{- include "moli.sandbox.resources" $values.courier.resources.requests | nindent 8 }}
      limits:
        cpu: {{ $values.courier.resources.limits.cpu }}
        # A file in a memory volume counts to whoever wrote it.
        memory: {{ $courierBytes | quote }}
        ephemeral-storage: 16Mi
    volumeMounts:
      - { name: run, mountPath: /run/moli }
      - { name: outbox, mountPath: /outbox }
      - { name: token, mountPath: /var/run/moli/token, readOnly: true }
      - { name: trust, mountPath: /etc/moli/trust, readOnly: true }
volumes:
  # In memory with a size: a folder on disk over its limit is evicted late, not bounded.
  - name: run
    emptyDir: { medium: Memory, sizeLimit: 1Mi }
  - name: sandbox-tmp
    emptyDir: { medium: Memory, sizeLimit: 64Mi }
  {{- if $values.allowWeakerIsolation }}
  - name: work
    emptyDir: { medium: Memory, sizeLimit: {{ .of.outbox }} }
  {{- end }}
  - name: outbox
    emptyDir: { medium: Memory, sizeLimit: {{ .of.outbox }} }
  - name: token
    projected:
      sources:
        - serviceAccountToken: { audience: moli-executor, expirationSeconds: 600, path: token }
  - name: trust
    configMap: { name: moli-sandbox-trust }
{{- end }}

{{/* cpu, memory, ephemeralStorage as Kubernetes spells them. */}}
{{- define "moli.sandbox.resources" -}}
{{- range $key, $value := . }}
{{ ternary "ephemeral-storage" $key (eq $key "ephemeralStorage") }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "moli.courier.env" -}}
- name: MOLI_EXECUTOR_ADDRESS
  value: {{ include "moli.executor.service" .ctx }}:9443
- name: MOLI_EXECUTOR_CA
  value: /etc/moli/trust/executor.crt
- name: MOLI_TOKEN_FILE
  value: /var/run/moli/token/token
- name: MOLI_SANDBOX_SOCKET
  value: /run/moli/zygote.sock
- name: MOLI_OUTBOX_DIR
  value: /outbox
- name: MOLI_PROFILE
  value: {{ .profile }}
- name: MOLI_POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: MOLI_POD_UID
  valueFrom: { fieldRef: { fieldPath: metadata.uid } }
- name: MOLI_POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: MOLI_NODE_IP
  valueFrom: { fieldRef: { fieldPath: status.hostIP } }
- name: MOLI_FORBIDDEN_TARGETS
  value: {{ include "moli.sandbox.forbiddenTargets" .ctx }}
- name: MOLI_OBJECTS_URL
  value: {{ include "moli.s3.endpoint" .ctx }}
{{- if .ctx.Values.s3.ca }}
- name: MOLI_OBJECTS_CA
  value: /etc/moli/trust/objects.crt
{{- end }}
{{- end }}
