package servers

// native turns on Kubernetes' own gang scheduling. The controller manager takes part: the API server puts a
// finalizer on every PodGroup that only the controller podgroup-protection removes.
func native() Extension {
	gates := []string{"GenericWorkload"}
	return Extension{Features: Features{
		APIs: []string{"scheduling.k8s.io/v1beta1=true"},
		Gates: map[string][]string{
			ProcessAPIServer:         gates,
			ProcessScheduler:         gates,
			ProcessControllerManager: gates,
		},
	}}
}
