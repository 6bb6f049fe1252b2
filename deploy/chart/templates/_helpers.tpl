{{/*
Names are fixed: two operators that do the same work would fight, and so Helm itself refuses the second one. One
that watches other namespaces has a namespace of its own, and cluster-scoped roles of its namespace's name.
*/}}
{{- define "trainingjob.clusterRole" -}}
{{- if .Values.config.watchNamespaces -}}
trainingjob-operator-{{ .Release.Namespace }}
{{- else -}}
trainingjob-operator
{{- end }}
{{- end }}

{{- define "trainingjob.selector" -}}
control-plane: trainingjob-operator
{{- end }}

{{- define "trainingjob.labels" -}}
app.kubernetes.io/name: trainingjob-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The beginning of an object's metadata. Takes root, name, and namespaced: false for one without a namespace. */}}
{{- define "trainingjob.metadata" -}}
name: {{ .name }}
{{- if ne (toString .namespaced) "false" }}
namespace: {{ .namespace | default .root.Release.Namespace }}
{{- end }}
labels:
  {{- include "trainingjob.labels" .root | nindent 2 }}
{{- end }}

{{/*
An image's reference, from repository, tag and digest; the tag is the chart's appVersion where none is given.
Takes root and image.
*/}}
{{- define "trainingjob.image" -}}
{{- with .image -}}
{{- .repository -}}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.root.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The port of a bind address. */}}
{{- define "trainingjob.port" -}}
{{- regexFind "[^:]+$" . -}}
{{- end }}

{{/*
The objects of a file below files/, which is linked to what kustomize installs: they are nowhere written twice.
They get the release's namespace and labels. Takes root and path, and optionally
  kinds        the only ones that are taken
  names        the only ones that are taken
  data         entries of ConfigMaps, instead of the file's
  annotations  added to those of each object
  replace      a map of texts to those that take their place
*/}}
{{- define "trainingjob.objects" -}}
{{- $root := .root }}
{{- $text := required (printf "the chart lacks its file %s" .path) ($root.Files.Get .path) }}
{{- $text = replace "trainingjob-system" $root.Release.Namespace $text }}
{{- range $from, $to := .replace }}{{ $text = replace $from $to $text }}{{ end }}
{{- range regexSplit "(?m)^---[ \t]*$" $text -1 }}
{{- $o := fromYaml . }}
{{- if and (hasKey $o "Error") (not $o.kind) }}{{ fail (printf "%s: %s" $.path $o.Error) }}{{ end }}
{{- $wanted := and $o.kind (or (not $.kinds) (has $o.kind ($.kinds | default list))) }}
{{- if and $wanted (or (not $.names) (has $o.metadata.name ($.names | default list))) }}
{{- $labels := include "trainingjob.labels" $root | fromYaml }}
{{- $_ := set $o.metadata "labels" (merge $labels ($o.metadata.labels | default dict)) }}
{{- with $.annotations }}
{{- $_ := set $o.metadata "annotations" (merge (deepCopy .) ($o.metadata.annotations | default dict)) }}
{{- end }}
{{- if and $.data (eq $o.kind "ConfigMap") }}
{{- $_ := set $o "data" (merge (deepCopy $.data) $o.data) }}
{{- end }}
---
{{ toYaml $o }}
{{ end }}
{{- end }}
{{- end }}
