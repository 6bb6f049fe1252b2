package recorder

// The rights for recording, generated into deploy/server/role.yaml: the recorder follows jobs, and reads a
// job from the API server before it records a deletion. It reads only the metadata of nodes, which RBAC does
// not distinguish, and none without gpuKindLabels. deploy/server/finalizer.yaml has the right to patch jobs.
//
// +kubebuilder:rbac:groups=mlplatform.example.com,resources=trainingjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
