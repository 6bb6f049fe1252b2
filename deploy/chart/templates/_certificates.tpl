{{/*
What cert-manager is asked for: the objects of a file, or, with an issuer of the cluster's, the one certificate.
Takes root, path, name and certificate (the values).
*/}}
{{- define "trainingjob.certificates" -}}
{{- $own := printf "secretName: %s\n  duration: 2160h" .name }}
{{- $secret := dict $own (printf "secretName: %s\n  duration: 2160h" .certificate.secretName) }}
{{- $from := merge (dict "replace" $secret) . }}
{{- if .certificate.issuerRef }}
{{- $only := merge (dict "kinds" (list "Certificate") "names" (list .name)) $from }}
{{- $o := include "trainingjob.objects" $only | fromYaml }}
{{- $_ := set $o.spec "issuerRef" .certificate.issuerRef }}
---
{{ toYaml $o }}
{{- else }}
{{- include "trainingjob.objects" $from }}
{{- end }}
{{- end }}
