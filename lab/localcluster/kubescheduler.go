package localcluster

import "strconv"

// kubeScheduler is the command line of kube-scheduler. It runs in every cluster,
// for pods that name no scheduler.
func (p plan) kubeScheduler() process {
	port := p.ports[processScheduler]
	args := []string{
		"--kubeconfig=" + p.files.kubeconfig(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
		// Its default of 50 requests a second caps it at 25 binds a second: 480
		// pods took 17.7 s, and 3.1 s like this (measured).
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
	}
	args = append(args, p.servingFlags()...)
	return process{
		Name:   processScheduler,
		Path:   p.binaries.path(componentKubernetes, processScheduler),
		Args:   p.withFeatureGates(args, processScheduler),
		Log:    p.files.log(processScheduler),
		Ports:  []int{port},
		Health: localURL(port, "/readyz"),
	}
}

// nativeGangs turns on Kubernetes' own gang scheduling. The controller manager
// takes part: the API server puts a finalizer on every PodGroup that only its
// podgroup-protection controller removes.
func nativeGangs() scheduler {
	gates := []string{"GenericWorkload", "GangScheduling", "WorkloadAwarePreemption"}
	return scheduler{
		runtimeConfig: "scheduling.k8s.io/v1alpha2=true",
		featureGates: map[string][]string{
			processAPIServer:         gates,
			processScheduler:         gates,
			processControllerManager: {"GenericWorkload"},
		},
	}
}
