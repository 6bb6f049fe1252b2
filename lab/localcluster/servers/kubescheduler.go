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
		"--config=" + c.Files.SchedulerConfiguration(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
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
