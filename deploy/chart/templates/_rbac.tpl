{{/*
The resources of the operator's role that have no namespace. test/chart checks the list against the role.
*/}}
{{- define "trainingjob.clusterScoped" -}}
resources: [nodes, priorityclasses, queues, hypernodes, clusterqueues, resourceflavors, workloadpriorityclasses,
  deviceclasses, tokenreviews, subjectaccessreviews]
{{- end }}

{{/*
Rules of the generated role, for an operator that watches some namespaces: those on resources with a namespace,
or, where cluster is true, those without. The objects of the Cluster Autoscaler are in a namespace where such an
operator has no rights: it does not know then whether there is an autoscaler, and config.nodeAutoscaler says.
Takes rules and cluster.
*/}}
{{- define "trainingjob.rules" -}}
{{- $scoped := (include "trainingjob.clusterScoped" . | fromYaml).resources }}
{{- $rules := list }}
{{- range .rules }}
{{- $resources := list }}
{{- $names := .resourceNames | default list }}
{{- $elsewhere := or (has "cluster-autoscaler-status" $names) (has "cluster-autoscaler" $names) }}
{{- range .resources }}
{{- if and (eq (has . $scoped) $.cluster) (not $elsewhere) }}{{ $resources = append $resources . }}{{ end }}
{{- end }}
{{- if $resources }}{{ $rules = append $rules (merge (dict "resources" $resources) .) }}{{ end }}
{{- end }}
{{- toYaml $rules }}
{{- end }}

{{/* A binding of the operator's account. Takes root, kind (of the role), name, and namespace: "" for all. */}}
{{- define "trainingjob.binding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (ne .namespace "") }}
metadata:
  {{- $namespaced := ne .namespace "" }}
  {{- include "trainingjob.metadata" (merge (dict "namespaced" $namespaced) .) | nindent 2 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ .kind }}, name: {{ .name }}}
subjects:
  - kind: ServiceAccount
    name: {{ .root.Values.serviceAccount.name }}
    namespace: {{ .root.Release.Namespace }}
{{ end }}
