{{/*
The server's configuration file: the values' block server.config, and what the chart knows of its own: where it
mounts the certificate and the database. What the block says counts instead.
*/}}
{{- define "trainingjob.serverConfig" -}}
{{- $c := deepCopy .Values.server.config }}
{{- $_ := set $c "apiVersion" "config.mlplatform.example.com/v1alpha1" }}
{{- $_ := set $c "kind" "ServerConfiguration" }}
{{- if not ($c.listen | default dict).insecure }}
{{- $on := dict "certificateDir" "/etc/trainingjob-server-certificate" }}
{{- $_ := set $c "listen" (merge ($c.listen | default dict) $on) }}
{{- end }}
{{- if not $c.database }}
{{- $url := dict "url" "sqlite:///var/lib/trainingjob-server/history.db" }}
{{- $file := dict "urlFile" "/etc/trainingjob-server-database/url" }}
{{- $_ := set $c "database" (ternary $file $url (ne "" .Values.server.database.secret.name)) }}
{{- end }}
{{- toYaml $c }}
{{- end }}

{{/* A bind address of the server's configuration, or its default. Takes root, of, default. */}}
{{- define "trainingjob.serverAddress" -}}
{{- (index (include "trainingjob.serverConfig" .root | fromYaml) .of | default dict).bindAddress | default .default -}}
{{- end }}

{{- define "trainingjob.serverSelector" -}}
control-plane: trainingjob-server
{{- end }}

{{/* "true" where the history is in a file, which one process alone may write. */}}
{{- define "trainingjob.serverHasFile" -}}
{{- $database := (include "trainingjob.serverConfig" . | fromYaml).database | default dict }}
{{- hasPrefix "sqlite:" ($database.url | default (ternary "" "sqlite:" (hasKey $database "urlFile"))) -}}
{{- end }}
