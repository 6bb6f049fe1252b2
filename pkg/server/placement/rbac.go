package placement

// The rights that the map needs, generated into deploy/server/role.yaml. RBAC cannot grant parts of an
// object: the right to list pods includes their environment. Package placement keeps only what its
// documentation lists. Without the right to pods the map shows nodes without holders; without the right to
// nodes, it shows what the statuses of jobs contain.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
