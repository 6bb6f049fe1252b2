// Package stack runs gangs in the ways that a benchmark compares: a [Stack] says, as data, what its users
// write, and a [Client] writes it.
//
//	stack.go         what a stack is
//	client.go        the only writes to the API of a stack
//	pods.go          what all stacks say of a gang's pods
//	profile.go       versions, and settings of the programs
//	kubeflow.go      PyTorchJobs of Kubeflow's training operator, on Volcano
//	volcanojob.go    Volcano's own Jobs
//	kueuejob.go      Kubernetes' Jobs, admitted by Kueue
//	kueuejobset.go   JobSets, admitted by Kueue
//
// A gang looks as its stack's users write it: what they leave to a default is left to it, except where a
// webhook that a local cluster leaves out would write the default.
package stack

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Stack is one way of running gangs. All methods are pure: the same arguments, the same answer.
type Stack interface {
	// Describe says what it is: its name, and the versions and settings of its programs.
	Describe() result.Stack
	// Cluster sets in the options what the stack asks of its cluster: schedulers, add-ons and their settings. It
	// leaves all other options alone.
	Cluster(options *localcluster.Options)
	// Queue are the objects that must exist before the namespace's first gang, in the order in which they are
	// created; gpus are all that the cluster has. Those without a namespace may exist from an earlier one. The
	// PriorityClasses exist (see PriorityClasses).
	Queue(namespace string, gpus int) []client.Object
	// Render are the objects that a user writes for a gang, in the order in which they are created. Each has its
	// kind and its version. All pods carry LabelGang and localcluster.AnnotationTrainer.
	Render(namespace string, gang workload.Gang) []client.Object
	// Admission is from where it is read that a gang may go ahead; nil where nothing says so.
	Admission() *Admission
	// Rank of a pod of a gang, from 0; an error when it does not say. A pod that takes another's place has its
	// rank.
	Rank(pod *corev1.Pod) (int, error)
}

// Admission says from which objects it is read that a gang may go ahead.
type Admission struct {
	// Resource of the objects; they are in the gang's namespace.
	Resource schema.GroupVersionResource
	// Gang is the name of the gang that an object is about, "" for none.
	Gang func(object *unstructured.Unstructured) string
	// Admitted reports whether that gang may go ahead, now or before.
	Admitted func(object *unstructured.Unstructured) bool
}

// Peers are the stacks that are not ours, with the settings of a profile.
func Peers(profile Profile) []Stack {
	return []Stack{Kubeflow{profile}, VolcanoJob{profile}, KueueJob{profile}, KueueJobSet{profile}}
}

// owner is the name of the object's controller: that of the gang where the job has its name.
func owner(object *unstructured.Unstructured) string {
	if ref := metav1.GetControllerOf(object); ref != nil {
		return ref.Name
	}
	return ""
}

// conditionTrue reports whether an object has a condition in its status, with status True.
func conditionTrue(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions") // absent: none
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] == kind && condition["status"] == string(metav1.ConditionTrue) {
			return true
		}
	}
	return false
}
