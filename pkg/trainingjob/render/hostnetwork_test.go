package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// onHosts is a job of a framework whose two Workers are in the network of their nodes, edited.
func onHosts(framework v1alpha1.Framework, edit func(*corev1.PodSpec)) *v1alpha1.TrainingJob {
	job := jobtest.New(0, jobtest.RolesOf(framework, map[v1alpha1.Role]int32{v1alpha1.RoleWorker: 2}))
	role := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	role.Template.Spec.HostNetwork = true
	edit(&role.Template.Spec)
	job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = role
	return job
}

func TestRanksInTheNetworkOfTheirNodes(t *testing.T) {
	as := func(*corev1.PodSpec) {}
	for name, c := range map[string]struct {
		job    *v1alpha1.TrainingJob
		policy corev1.DNSPolicy
		ports  [2]int // of rank 0 and rank 1
		port   int32
	}{
		"rank 0 listens":   {onHosts("pytorch", as), corev1.DNSClusterFirstWithHostNet, [2]int{1, 0}, 23456},
		"all ranks listen": {onHosts("tensorflow", as), corev1.DNSClusterFirstWithHostNet, [2]int{1, 1}, 2222},
		"the user's choice": {onHosts("pytorch", func(pod *corev1.PodSpec) {
			pod.DNSPolicy = corev1.DNSNone
			pod.Containers[0].Ports = []corev1.ContainerPort{{Name: "rendezvous", ContainerPort: 4000}}
		}), corev1.DNSNone, [2]int{1, 1}, 4000},
		"no host network": {onHosts("pytorch", func(pod *corev1.PodSpec) { pod.HostNetwork = false }), "",
			[2]int{}, 0},
	} {
		for i, want := range c.ports {
			pod := rendered(t, c.job, worker(int32(i)), 1)
			ports := pod.Spec.Containers[0].Ports
			if pod.Spec.DNSPolicy != c.policy || len(ports) != want {
				t.Errorf("%s: rank %d has dnsPolicy %q and ports %v", name, i, pod.Spec.DNSPolicy, ports)
			}
			if len(ports) == 1 && ports[0].ContainerPort != c.port {
				t.Errorf("%s: rank %d reserves port %d, want %d", name, i, ports[0].ContainerPort, c.port)
			}
		}
	}
}
