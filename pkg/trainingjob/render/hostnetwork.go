package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// resolveOnHost lets ranks in the network of their node resolve the names of their peers. With the default
// dnsPolicy, ClusterFirst, such a pod uses the name servers of its node
// (k8s.io/kubernetes/pkg/kubelet/network/dns).
func resolveOnHost(pod *corev1.PodSpec) {
	if pod.HostNetwork && (pod.DNSPolicy == "" || pod.DNSPolicy == corev1.DNSClusterFirst) {
		pod.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
}

// reserveHostPort declares the port on which a rank in the network of its node listens, so that no scheduler
// places another rank with the same port on that node.
func reserveHostPort(pod *corev1.PodSpec, f framework.Framework, self framework.Rank) {
	if !pod.HostNetwork || self.Number > 0 && !f.AllListen {
		return
	}
	trainer := f.Trainer(pod)
	declares := func(p corev1.ContainerPort) bool {
		return p.ContainerPort == self.Port && p.Protocol != corev1.ProtocolUDP
	}
	if !slices.ContainsFunc(trainer.Ports, declares) {
		trainer.Ports = append(trainer.Ports, corev1.ContainerPort{ContainerPort: self.Port, HostPort: self.Port})
	}
}
