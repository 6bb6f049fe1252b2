{{/*
The operator's configuration file: the values' block config, which overrides what the chart sets: the
certificate directories, the Service's name and the agent's image.
*/}}
{{- define "trainingjob.config" -}}
{{- $c := deepCopy .Values.config }}
{{- $_ := set $c "apiVersion" "config.mlplatform.example.com/v1alpha1" }}
{{- $_ := set $c "kind" "OperatorConfiguration" }}
{{- if .Values.reports.enabled }}
{{- $url := printf "https://trainingjob-reports.%s.svc:9443" .Release.Namespace }}
{{- $on := dict "bindAddress" ":9443" "url" $url "certificateDir" "/etc/trainingjob-reports" }}
{{- $_ := set $c "reports" (merge ($c.reports | default dict) $on) }}
{{- end }}
{{- if .Values.monitoring.certificate.source }}
{{- $on := dict "certificateDir" "/etc/trainingjob-metrics" }}
{{- $_ := set $c "metrics" (merge ($c.metrics | default dict) $on) }}
{{- end }}
{{- if .Values.agentImage.repository }}
{{- $image := include "trainingjob.image" (dict "root" . "image" .Values.agentImage) }}
{{- $_ := set $c "agent" (merge ($c.agent | default dict) (dict "image" $image)) }}
{{- end }}
{{- toYaml $c }}
{{- end }}

{{/* A bind address of the configuration, or the operator's default. Takes root, of, default. */}}
{{- define "trainingjob.bindAddress" -}}
{{- (index (include "trainingjob.config" .root | fromYaml) .of | default dict).bindAddress | default .default -}}
{{- end }}

{{- define "trainingjob.metricsScheme" -}}
{{- ternary "http" "https" (eq "false" (toString (.Values.config.metrics | default dict).secure)) -}}
{{- end }}
