package servers

import (
	"strconv"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// kubeScheduler is the process of kube-scheduler. It runs in every cluster, for pods that name no scheduler.
func (c Config) kubeScheduler() process.Process {
	port := c.Ports[ProcessScheduler]
	args := []string{
		"--kubeconfig=" + c.Files.Kubeconfig(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
		// The default of 50 requests a second limits it to 25 binds a second: 480 pods took 17.7 s with the default
		// and 3.1 s with these (measured).
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
	}
	args = append(args, c.servingFlags()...)
	args = append(args, c.featureGates(ProcessScheduler)...)
	return process.Process{
		Name:   ProcessScheduler,
		Path:   c.Binaries.Path(components.Kubernetes, ProcessScheduler),
		Args:   args,
		Log:    c.Files.Log(ProcessScheduler),
		Ports:  []int{port},
		Health: layout.LocalURL(port, "/readyz"),
	}
}
