{{- define "type_members" -}}
{{- $field := . -}}
{{- if eq $field.Name "metadata" -}}
Standard metadata. The name becomes part of host names.
{{- else -}}
{{- $doc := regexReplaceAll "^[A-Za-z0-9]+ (is|are) " (markdownRenderFieldDoc $field.Doc | trimSuffix "<br />" | replace "<br />" " " | replace "<" "&lt;") "" -}}
{{ substr 0 1 $doc | upper }}{{ substr 1 -1 $doc }}
{{- end -}}
{{- end -}}
