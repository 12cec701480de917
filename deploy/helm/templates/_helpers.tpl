{{/* What several templates share. */}}

{{- define "billing.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "billing.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "billing.labels" -}}
{{ include "billing.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "billing.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The settings of a process: (dict "root" $ "own" map), without a name twice. */}}
{{- define "billing.env" -}}
{{- $all := mergeOverwrite (dict) (deepCopy .root.Values.settings) .own -}}
{{- range $name, $value := $all }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- range $name, $key := .root.Values.secrets.settings }}
- name: {{ $name }}_FILE
  value: /run/secrets/billing/{{ $key }}
{{- end }}
{{- end -}}

{{- define "billing.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "billing.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "billing.mounts" -}}
- name: secrets
  mountPath: /run/secrets/billing
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- end -}}

{{- define "billing.volumes" -}}
- name: secrets
  secret:
    secretName: {{ .Values.secrets.name }}
    defaultMode: 0440
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmpSize }}
{{- end -}}

{{/* What the pods may reach, as the rules of a NetworkPolicy. */}}
{{- define "billing.egress" -}}
{{- range $name := list "dns" "database" "temporal" "https" }}
{{- $destination := index $.Values.networkPolicy.egress $name }}
- ports:
    {{- range $destination.ports }}
    {{- if eq $name "dns" }}
    - protocol: UDP
      port: {{ . }}
    {{- end }}
    - protocol: TCP
      port: {{ . }}
    {{- end }}
  {{- with $destination.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .Values.networkPolicy.egress.extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Spreads the pods of a part over nodes: (dict "root" $ "part" name). */}}
{{- define "billing.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "billing.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .part }}
{{- end -}}
