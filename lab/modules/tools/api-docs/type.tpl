{{- define "type" -}}
{{- if markdownShouldRenderType . -}}
## {{ .Name }}

{{ .Doc }}
{{ if and (not .Members) (not .EnumValues) .IsAlias }}
A {{ .UnderlyingType.Name }}.
{{ end }}
{{- if .References }}
In: {{ range $i, $r := .SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $r }}{{ end }}
{{ end }}
{{- if .Members }}
| Field | Type | Description | Bounds |
| --- | --- | --- | --- |
{{ if .GVK }}| `apiVersion` | string | `{{ .GVK.Group }}/{{ .GVK.Version }}` | |
| `kind` | string | `{{ .GVK.Kind }}` | |
{{ end -}}
{{ range .Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ template "type_members" . }} | {{ range .Validation }}{{ if and (ne . "Optional: {}") (ne (printf "%.4s" .) "Enum") (ne (printf "%.4s" .) "XVal") }}{{ markdownRenderFieldDoc . }} {{ end }}{{ end }}|
{{ end -}}
{{ end }}
{{- if .EnumValues }}
| Value | Meaning |
| --- | --- |
{{ range .EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc }} |
{{ end -}}
{{ end }}
{{ end -}}
{{- end -}}
