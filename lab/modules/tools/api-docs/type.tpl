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
| Field | Description |
| --- | --- |
{{ if .GVK }}| `apiVersion` _string_ | `{{ .GVK.Group }}/{{ .GVK.Version }}` |
| `kind` _string_ | `{{ .GVK.Kind }}` |
{{ end -}}
{{ range .Members -}}
| `{{ .Name }}` _{{ markdownRenderType .Type }}_ | {{ template "type_members" . }} |
{{ end -}}
{{ end }}
{{- if .EnumValues }}
| Value | Meaning |
| --- | --- |
{{ range .EnumValues -}}
{{ $doc := regexReplaceAll "^[A-Za-z0-9]+:? (is |means that |means )?" (markdownRenderFieldDoc .Doc | trimSuffix "<br />" | replace "<br />" " ") "" -}}
| `{{ .Name }}` | {{ substr 0 1 $doc | upper }}{{ substr 1 -1 $doc }} |
{{ end -}}
{{ end }}
{{ end -}}
{{- end -}}
