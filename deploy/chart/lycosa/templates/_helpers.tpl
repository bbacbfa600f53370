{{- define "lycosa.name" -}}
{{- printf "%s-lycosa" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "lycosa.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/name: lycosa
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Labels that select the pods of a component: (list . "worker") */}}
{{- define "lycosa.selector" -}}
app.kubernetes.io/name: lycosa
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The variable that has the address of a service: Kubernetes expands it in arguments. */}}
{{- define "lycosa.hostVariable" -}}
{{ printf "%s_SERVICE_HOST" (. | replace "-" "_" | upper) }}
{{- end -}}

{{- define "lycosa.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "lycosa.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "lycosa.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "lycosa.claim" -}}
{{ .Values.state.existingClaim | default (printf "%s-state" (include "lycosa.name" .)) }}
{{- end -}}

{{/* What each pod has: no rights, no token, no writable image. */}}
{{- define "lycosa.pod" -}}
serviceAccountName: {{ include "lycosa.serviceAccount" . }}
automountServiceAccountToken: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "lycosa.container" -}}
image: {{ include "lycosa.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* The options of a job in Kafka. */}}
{{- define "lycosa.jobArguments" -}}
- --job=/etc/lycosa/job.toml
- {{ printf "--name=%s" (required "job.name: the name of the job" .Values.job.name) | quote }}
- {{ printf "--kafka=%s" (required "kafka.brokers: host:port of the brokers" .Values.kafka.brokers) | quote }}
{{- if .Values.kafka.secret }}
- --kafka-config=/etc/lycosa-kafka/client.properties
{{- end }}
{{- range .Values.job.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Where workers keep their state, and their rows. */}}
{{- define "lycosa.state" -}}
/shared/state-{{ .Values.job.name }}
{{- end -}}
{{- define "lycosa.rows" -}}
/shared/rows-{{ .Values.job.name }}
{{- end -}}

{{/* The options of outputs. */}}
{{- define "lycosa.outputs" -}}
{{- range .Values.state.outputs }}
- {{ printf "--output=%s/%s" (include "lycosa.rows" $) . | quote }}
{{- end }}
{{- end -}}

{{/* Directories that the first pod makes. */}}
{{- define "lycosa.directories" -}}
- name: directories
  {{- include "lycosa.container" . | nindent 2 }}
  command: [mkdir, -p, {{ include "lycosa.state" . }}, {{ include "lycosa.rows" . }}]
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 64Mi}
  volumeMounts:
    - {name: shared, mountPath: /shared}
{{- end -}}

{{/* Whether a pod of a job works, and whether it can. */}}
{{- define "lycosa.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 15
  timeoutSeconds: 6
  failureThreshold: 4
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 5
  timeoutSeconds: 6
{{- end -}}

{{- define "lycosa.jobVolumes" -}}
- name: job
  configMap: {name: {{ include "lycosa.name" . }}-job}
- name: temporary
  emptyDir: {}
{{- if .Values.kafka.secret }}
- name: kafka
  secret: {secretName: {{ .Values.kafka.secret }}, defaultMode: 0440}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lycosa.jobMounts" -}}
- {name: job, mountPath: /etc/lycosa, readOnly: true}
- {name: temporary, mountPath: /tmp}
{{- if .Values.kafka.secret }}
- {name: kafka, mountPath: /etc/lycosa-kafka, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
