package localcluster

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
)

// apiserver is the command line of kube-apiserver.
func (p plan) apiserver() process {
	port := p.ports[processAPIServer]
	args := []string{
		"--etcd-servers=" + localURL(p.ports[processEtcd], ""),
		"--etcd-cafile=" + p.files.pkiFile(fileCA),
		"--etcd-certfile=" + p.files.pkiFile(fileAdminCert),
		"--etcd-keyfile=" + p.files.pkiFile(fileAdminKey),
		"--bind-address=" + p.apiserverAddress(),
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		// The Service "kubernetes" may not point to a loopback address.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--client-ca-file=" + p.files.pkiFile(fileCA),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.files.pkiFile(fileAccountsKey),
		"--service-account-signing-key-file=" + p.files.pkiFile(fileAccountsKey),
	}
	if !p.options.RealNode {
		// Pods on fake nodes need no token, and a pod created right after its
		// namespace would be refused until the account "default" is there.
		// Tokens are issued all the same (kubectl create token).
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	args = append(args,
		"--allow-privileged=true",
		// Measurements shall meet the scheduler's limits, not these.
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1500",
		"--shutdown-delay-duration=0s",
		"--profiling=false",
	)
	args = append(args, p.servingFlags()...)
	args = p.withFeatureGates(args, processAPIServer)
	apis := sets.New[string]()
	for _, name := range p.options.Schedulers {
		if api := schedulers()[name].runtimeConfig; api != "" {
			apis.Insert(api)
		}
	}
	for _, api := range sets.List(apis) {
		args = append(args, "--runtime-config="+api)
	}
	if p.options.Audit {
		args = append(args,
			"--audit-policy-file="+p.configuration("kubernetes", "audit-policy.yaml"),
			"--audit-log-path="+p.files.audit(),
			// One file: whoever counts lines must not lose them to a rotation.
			"--audit-log-maxsize=0",
		)
	}
	return process{
		Name:   processAPIServer,
		Path:   p.binaries.path(componentKubernetes, processAPIServer),
		Args:   args,
		Log:    p.files.log(processAPIServer),
		Ports:  []int{port},
		Health: localURL(port, "/readyz"),
	}
}

// apiserverAddress that it listens on. A real node reaches it over its cable.
func (p plan) apiserverAddress() string {
	if p.options.RealNode {
		return "0.0.0.0"
	}
	return "127.0.0.1"
}
