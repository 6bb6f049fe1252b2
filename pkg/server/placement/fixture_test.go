package placement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	gpu     = "nvidia.com/gpu"
	product = "nvidia.com/gpu.product"
	rack    = "example.com/rack"
)

func counting() Counting {
	return Counting{KindLabels: []string{product}, TopologyLabels: []string{rack, corev1.LabelTopologyZone}}
}

func list(gpus int64) corev1.ResourceList {
	return corev1.ResourceList{
		gpu: *resource.NewQuantity(gpus, resource.DecimalSI), corev1.ResourceCPU: resource.MustParse("96"),
	}
}

// newNode returns a ready node with 8 H100.
func newNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{product: "H100"}},
		Status: corev1.NodeStatus{
			Capacity: list(8), Allocatable: list(8),
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			},
		},
	}
	for _, do := range change {
		do(n)
	}
	return n
}

// newPod returns a pod that runs on a node and holds GPUs.
func newPod(namespace, name, node string, gpus int64, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if gpus > 0 {
		p.Spec.Containers[0].Resources.Requests = list(gpus)
	}
	for _, do := range change {
		do(p)
	}
	return p
}

// newRank returns the pod of a rank.
func newRank(namespace, job, role string, index int, node string, gpus int64, change ...func(*corev1.Pod),
) *corev1.Pod {
	change = append([]func(*corev1.Pod){func(p *corev1.Pod) {
		p.Labels = map[string]string{
			v1alpha1.LabelJobName: job, v1alpha1.LabelKubeflowReplicaType: role,
			v1alpha1.LabelKubeflowReplicaIndex: fmt.Sprint(index),
		}
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainingJob", Name: job,
			UID: types.UID("uid-" + job), Controller: new(true),
		}}
	}}, change...)
	return newPod(namespace, fmt.Sprintf("%s-%s-%d", job, role, index), node, gpus, change...)
}

func newJob(namespace, name string, phase v1alpha1.Phase, change ...func(*v1alpha1.TrainingJob),
) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name),
	}}
	j.Status.Phase = phase
	for _, do := range change {
		do(j)
	}
	return j
}

// known returns a cluster whose nodes and pods have been listed.
func known(objects ...any) *cluster {
	c := newCluster("here", counting())
	c.ofNodes.listed, c.ofPods.listed = true, true
	for _, o := range objects {
		setIf(o, c.setNode)
		setIf(o, c.setPod)
	}
	return c
}

// everything is a viewer with all rights.
func everything() Viewer { return Viewer{ListsNodes: true, Sees: func(string) bool { return true }} }

// only is a viewer who may see the jobs of one namespace.
func only(namespace string) Viewer {
	return Viewer{ListsNodes: true, Sees: func(of string) bool { return of == namespace }}
}
