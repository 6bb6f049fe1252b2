package namespaces

// The right to follow the metadata of namespaces, generated into deploy/server/role.yaml. Without it only
// callers who may read the TrainingJobs of all namespaces see the history.
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
