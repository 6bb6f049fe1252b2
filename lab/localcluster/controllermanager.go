package localcluster

import "strconv"

// controllerManager is the command line of kube-controller-manager, with all of
// its default controllers.
func (p plan) controllerManager() process {
	port := p.ports[processControllerManager]
	args := []string{
		"--kubeconfig=" + p.files.kubeconfig(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--leader-elect=false",
		"--root-ca-file=" + p.files.pkiFile(fileCA),
		"--service-account-private-key-file=" + p.files.pkiFile(fileAccountsKey),
		"--node-monitor-period=1s",
		"--node-monitor-grace-period=" + p.options.NodeGracePeriod.String(),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
	args = append(args, p.servingFlags()...)
	return process{
		Name:   processControllerManager,
		Path:   p.binaries.path(componentKubernetes, processControllerManager),
		Args:   p.withFeatureGates(args, processControllerManager),
		Log:    p.files.log(processControllerManager),
		Ports:  []int{port},
		Health: localURL(port, "/healthz"),
	}
}
