package recorder

// The rights that recording needs, generated into deploy/server/role.yaml: jobs are followed, and read past
// the cache before one is said to be gone. Of nodes only the metadata is asked for, but RBAC knows no such
// distinction; without gpuKindLabels none are read.
//
// The right to patch jobs, which the finalizer needs, is not among them: deploy/server/finalizer.yaml.
// +kubebuilder:rbac:groups=mlplatform.example.com,resources=trainingjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
