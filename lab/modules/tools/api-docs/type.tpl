{{- define "type" -}}
{{- if markdownShouldRenderType . -}}
## {{ .Name }}

{{ $doc := regexReplaceAll "^[A-Za-z0-9]+ (is|are) " (.Doc | replace "<" "&lt;") "" -}}
{{ substr 0 1 $doc | upper }}{{ substr 1 -1 $doc }}

{{ if .GVK }}- `apiVersion` _string_: `{{ .GVK.Group }}/{{ .GVK.Version }}`
- `kind` _string_: `{{ .GVK.Kind }}`
{{ end -}}
{{ range .Members -}}
- `{{ .Name }}` _{{ markdownRenderType .Type }}_: {{ template "type_members" . }}
{{ end -}}
{{ range .EnumValues -}}
{{ $doc := regexReplaceAll "^[A-Za-z0-9]+:? (is |means that |means )?" (markdownRenderFieldDoc .Doc | trimSuffix "<br />" | replace "<br />" " " | replace "<" "&lt;") "" -}}
- `{{ .Name }}`: {{ substr 0 1 $doc | upper }}{{ substr 1 -1 $doc }}
{{ end }}
{{ end -}}
{{- end -}}
