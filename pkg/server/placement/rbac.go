package placement

// The rights that the map needs, generated into deploy/server/role.yaml. RBAC knows no part of an object: who
// may list pods may read all of them, with their environment. Package placement keeps of them what its
// documentation says. Without the right to pods the map shows nodes and no holders; without that to nodes, it
// shows what the statuses of jobs say.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
