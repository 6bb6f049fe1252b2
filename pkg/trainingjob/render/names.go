package render

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// MaxEndpoints is the API server's limit of endpoints in one EndpointSlice
// (k8s.io/kubernetes/pkg/apis/discovery/validation).
const MaxEndpoints = 1000

// Service returns the headless Service of a job, which gives its ranks host names. It has no selector: with
// one, kube-controller-manager writes Endpoints and EndpointSlices for each change of each pod. Names writes
// them once.
func Service(job *v1alpha1.TrainingJob) *corev1.Service {
	port := masterPort(job)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.ServiceName(job.Name), Namespace: job.Namespace,
			Labels:          map[string]string{v1alpha1.LabelJobName: job.Name},
			OwnerReferences: []metav1.OwnerReference{Owner(job)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Ports: []corev1.ServicePort{{
				// The target port is the API server's default, so that the applied object compares as equal.
				Name: framework.PortName, Port: port, TargetPort: intstr.FromInt32(port),
			}},
		},
	}
}

// NamedRank is a rank that has an address: its number among the ranks of its job, and its pod.
type NamedRank struct {
	Number int
	Pod    *corev1.Pod
}

// Names returns the EndpointSlices that resolve the host names of an attempt's ranks. They include ranks that
// are not ready, since ranks become ready only after they have met. A rank's number alone decides its slice.
func Names(job *v1alpha1.TrainingJob, attempt int32, ranks []NamedRank) []*discoveryv1.EndpointSlice {
	var slices []*discoveryv1.EndpointSlice
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		var slice *discoveryv1.EndpointSlice
		last := -1
		for _, r := range ranks {
			address, ok := addressOf(r.Pod, family)
			if !ok {
				continue
			}
			if n := r.Number / MaxEndpoints; n != last {
				slice, last = emptySlice(job, attempt, family, n), n
				slices = append(slices, slice)
			}
			slice.Endpoints = append(slice.Endpoints, endpoint(r.Pod, address))
		}
	}
	return slices
}

func emptySlice(
	job *v1alpha1.TrainingJob, attempt int32, family discoveryv1.AddressType, n int,
) *discoveryv1.EndpointSlice {
	names := map[discoveryv1.AddressType]string{
		discoveryv1.AddressTypeIPv4: "ipv4", discoveryv1.AddressTypeIPv6: "ipv6",
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%s-%d", job.Name, names[family], n), Namespace: job.Namespace,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: spec.ServiceName(job.Name),
				discoveryv1.LabelManagedBy:   v1alpha1.OperatorName,
				v1alpha1.LabelJobName:        job.Name,
				v1alpha1.LabelAttempt:        strconv.Itoa(int(attempt)),
			},
			OwnerReferences: []metav1.OwnerReference{Owner(job)},
		},
		AddressType: family,
		Ports: []discoveryv1.EndpointPort{{
			Name: new(framework.PortName), Port: new(masterPort(job)), Protocol: new(corev1.ProtocolTCP),
		}},
	}
}

func endpoint(pod *corev1.Pod, address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		Hostname:   new(pod.Name), // as Pod sets it
		NodeName:   new(pod.Spec.NodeName),
		TargetRef: &corev1.ObjectReference{
			Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		},
	}
}

// addressOf returns the pod's first address of a family.
func addressOf(pod *corev1.Pod, family discoveryv1.AddressType) (string, bool) {
	for _, ip := range pod.Status.PodIPs {
		if netutils.IsIPv6String(ip.IP) == (family == discoveryv1.AddressTypeIPv6) {
			return ip.IP, true
		}
	}
	return "", false
}

func masterPort(job *v1alpha1.TrainingJob) int32 {
	return peers(job, spec.Roles(job), nil).Leader().Port
}
