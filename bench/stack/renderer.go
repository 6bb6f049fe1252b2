package stack

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Renderer says, as data, what the users of a stack write whose gangs are objects. All methods are pure: the
// same arguments, the same answer.
type Renderer interface {
	// Describe says what it is: its name, and the versions and settings of its programs.
	Describe() result.Stack
	// Cluster is as of Stack.
	Cluster(options *localcluster.Options)
	// Queue are the objects that must exist before the namespace's first gang, in the order in which they are
	// created; gpus are all that the cluster has. Those without a namespace may exist from an earlier one. The
	// PriorityClasses exist (see PriorityClasses).
	Queue(namespace string, gpus int) []client.Object
	// Render are the objects that a user writes for a gang, in the order in which they are created. Each has its
	// kind and its version. All pods carry measure.LabelGang.
	Render(namespace string, gang workload.Gang) []client.Object
	// Admission is from where it is read that a gang may go ahead; nil where nothing says so.
	Admission() *Admission
	// Rank of a pod of a gang, from 0; an error when it does not say. A pod that takes another's place has its
	// rank.
	Rank(pod *corev1.Pod) (int, error)
}

// rendered is a stack whose gangs are objects, and which needs no program but those of the cluster.
type rendered struct{ Renderer }

func (r rendered) Start(_ context.Context, e Environment) (Session, error) {
	return newObjects(r.Renderer, e.config("bench"))
}

// objects is a session in which a gang is what a Renderer says.
type objects struct {
	*Client
}

func newObjects(renderer Renderer, config *rest.Config) (*objects, error) {
	c, err := NewClient(renderer, config)
	if err != nil {
		return nil, err
	}
	return &objects{c}, nil
}

func (o *objects) Prepare(ctx context.Context, namespace string, w workload.Workload) error {
	return o.Client.Prepare(ctx, namespace, w.GPUs())
}

func (o *objects) Admission() *Admission { return o.renderer.Admission() }

// Clear deletes all objects of the kinds that gangs have, then the pods.
func (o *objects) Clear(ctx context.Context, namespace string) error {
	sample := o.renderer.Render(namespace, workload.Gang{Name: "any", Ranks: 1, GPUs: 1})
	for _, object := range sample {
		of := &unstructured.Unstructured{}
		of.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		err := o.api.DeleteAllOf(ctx, of, client.InNamespace(namespace),
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			return fmt.Errorf("deleting every %s: %w", of.GetKind(), err)
		}
	}
	return deletePods(ctx, o.api, namespace)
}

// deletePods deletes all pods of a namespace without grace.
func deletePods(ctx context.Context, api client.Client, namespace string) error {
	pods := &unstructured.Unstructured{}
	pods.SetAPIVersion("v1")
	pods.SetKind("Pod")
	err := api.DeleteAllOf(ctx, pods, client.InNamespace(namespace), client.GracePeriodSeconds(0))
	if err != nil {
		return fmt.Errorf("deleting all pods: %w", err)
	}
	return nil
}

// Stop does nothing: the client is part of this process.
func (o *objects) Stop() error { return nil }
