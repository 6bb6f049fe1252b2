package stack

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// ResourceGPU is the extended resource of a GPU.
const ResourceGPU corev1.ResourceName = "nvidia.com/gpu"

// PriorityClass is the name of the PriorityClass of gangs with the priority.
func PriorityClass(p workload.Priority) string { return "bench-" + string(p) }

// PriorityClasses are those that every gang's pods name one of.
func PriorityClasses() []schedulingv1.PriorityClass {
	var classes []schedulingv1.PriorityClass
	for _, p := range []workload.Priority{workload.PriorityLow, workload.PriorityNormal, workload.PriorityHigh} {
		classes = append(classes, schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: PriorityClass(p)}, Value: p.Value(),
		})
	}
	return classes
}

// maxRestarts of a gang by its stack, where that has a bound: more than any workload needs, since the
// question is what interruptions cost, and not who gives up first. By default Volcano's Jobs are restarted 3
// times, Kubernetes' Jobs have 6 pods replaced, and JobSets are never restarted.
const maxRestarts = 100

// podTemplate is the template of all of a gang's pods. It asks for GPUs alone: a queue of Kueue admits no pod
// that asks for a resource that it has no quota of.
func podTemplate(g workload.Gang, container string, restart corev1.RestartPolicy) corev1.PodTemplateSpec {
	gpus := corev1.ResourceList{ResourceGPU: *resource.NewQuantity(int64(g.GPUs), resource.DecimalSI)}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{measure.LabelGang: g.Name},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:     restart,
			PriorityClassName: PriorityClass(g.Priority),
			Containers: []corev1.Container{{
				Name: container, Image: "trainer", Command: []string{"train"},
				Resources: corev1.ResourceRequirements{Requests: gpus, Limits: gpus},
			}},
		},
	}
}

// rankLabel reads a pod's rank from a label.
func rankLabel(pod *corev1.Pod, label string) (int, error) {
	rank, err := strconv.Atoi(pod.Labels[label])
	if err != nil {
		return 0, fmt.Errorf("reading the rank of pod %s from label %s: %w", pod.Name, label, err)
	}
	return rank, nil
}
