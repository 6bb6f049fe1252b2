package servers

import (
	"strconv"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// controllerManager is the process of kube-controller-manager, with all of its default controllers.
func (c Config) controllerManager() process.Process {
	port := c.Ports[ProcessControllerManager]
	args := []string{
		"--kubeconfig=" + c.Files.Kubeconfig(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
		"--root-ca-file=" + c.Files.CA(),
		"--service-account-private-key-file=" + c.Files.AccountsKey(),
		"--node-monitor-period=1s",
		"--node-monitor-grace-period=" + c.NodeGracePeriod.String(),
		// A pod that ends while others are created may leave a quota with a wrong count, until the next resync; the
		// default is 5 minutes.
		"--resource-quota-sync-period=5s",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
	args = append(args, c.servingFlags()...)
	args = append(args, c.featureGates(ProcessControllerManager)...)
	return process.Process{
		Name:   ProcessControllerManager,
		Path:   c.Binaries.Path(components.Kubernetes, ProcessControllerManager),
		Args:   args,
		Log:    c.Files.Log(ProcessControllerManager),
		Ports:  []int{port},
		Health: layout.LocalURL(port, "/healthz"),
	}
}
