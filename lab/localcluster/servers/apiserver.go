package servers

import (
	"strconv"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// APIServer is the process of kube-apiserver.
func (c Config) APIServer() process.Process {
	port := c.Ports[ProcessAPIServer]
	args := []string{
		"--etcd-servers=" + layout.LocalURL(c.Ports[ProcessEtcd], ""),
		"--etcd-cafile=" + c.Files.CA(),
		"--etcd-certfile=" + c.Files.AdminCert(),
		"--etcd-keyfile=" + c.Files.AdminKey(),
		"--bind-address=" + c.apiServerAddress(),
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		// Endpoints may not be loopback addresses, so the Service "kubernetes" gets none.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + layout.ServiceRange,
		"--client-ca-file=" + c.Files.CA(),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.Files.AccountsKey(),
		"--service-account-signing-key-file=" + c.Files.AccountsKey(),
	}
	args = append(args, c.nodeFlags()...)
	args = append(args,
		"--allow-privileged=true",
		// Measurements are to find the limits of schedulers, not of the API server.
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1500",
		// Between two runs of a benchmark hundreds of pods are deleted at once; the default is one worker.
		"--delete-collection-workers=4",
		"--shutdown-delay-duration=0s",
		"--profiling=false",
	)
	args = append(args, c.servingFlags()...)
	args = append(args, c.featureGates(ProcessAPIServer)...)
	for _, api := range c.Features.APIs {
		args = append(args, "--runtime-config="+api)
	}
	if c.Audit {
		args = append(args,
			"--audit-policy-file="+c.moduleFile("kubernetes", "audit-policy.yaml"),
			"--audit-log-path="+c.Files.Audit(),
			// One file: a rotation would lose lines for programs that count them.
			"--audit-log-maxsize=0",
		)
	}
	return process.Process{
		Name:   ProcessAPIServer,
		Path:   c.Binaries.Path(components.Kubernetes, ProcessAPIServer),
		Args:   args,
		Log:    c.Files.Log(ProcessAPIServer),
		Ports:  []int{port},
		Health: layout.LocalURL(port, "/readyz"),
	}
}

// nodeFlags of kube-apiserver follow from what the nodes are.
func (c Config) nodeFlags() []string {
	if c.RealNode { // whose kubelet has the logs; its name does not resolve
		return []string{
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-client-certificate=" + c.Files.AdminCert(),
			"--kubelet-client-key=" + c.Files.AdminKey(),
		}
	}
	// Pods on fake nodes need no token. With the plugin, a pod created right after its namespace is refused
	// until the account "default" exists. kubectl create token works without it.
	return []string{"--disable-admission-plugins=ServiceAccount"}
}

// apiServerAddress is the address that it listens on. A real node reaches it over the network.
func (c Config) apiServerAddress() string {
	if c.RealNode {
		return "0.0.0.0"
	}
	return "127.0.0.1"
}
