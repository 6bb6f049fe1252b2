// Package stack runs gangs in the ways that a benchmark compares: the TrainingJob operator on each of its
// schedulers, the same groups and pods written raw, and the peers.
//
//	stack.go    what every way has in common; registry.go lists them
//	ours.go     TrainingJobs; process.go starts the operator
//	raw.go      groups and pods without an operator, the floor: capture.go takes them from the operator
//	dialect.go  what both have in common on one scheduler; queue.go what Kueue needs
//	slowed.go   another stack made slow, to check the harness
//	clear.go    what empties a namespace
package stack

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Connections is the number of concurrent requests of a benchmark's client.
const Connections = 16

// Stack is one way of running gangs.
type Stack interface {
	// Describe says what the report tells of it.
	Describe() result.Stack
	// Schedulers that the local cluster must run.
	Schedulers() []string
	// AddOns that it must run beside them.
	AddOns() []string
	// Start what the stack needs beside the cluster, and return once it is ready.
	Start(ctx context.Context, e Environment) (Session, error)
}

// Environment is where a stack runs.
type Environment struct {
	Cluster *localcluster.Cluster
	// Operator is the binary of the TrainingJob operator.
	Operator string
	// Dir is a folder for files of the stack, its logs among them.
	Dir string
}

// config is a client's configuration with a user agent, by which its writes are counted.
func (e Environment) config(agent string) *rest.Config {
	c := e.Cluster.RESTConfig()
	c.UserAgent = agent + "/bench"
	slots := make(chan struct{}, Connections)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return connections{slots, next} })
	return c
}

// Session is a stack that runs. Its methods may be called from several goroutines, but for Prepare, Clear and
// Stop.
type Session interface {
	// Prepare makes what a namespace needs before gangs arrive: queues and quotas, say.
	Prepare(ctx context.Context, namespace string, w workload.Workload) error
	// Submit a gang as its user would, with one object where the stack has one.
	Submit(ctx context.Context, namespace string, g workload.Gang) error
	// Delete a gang as its user would.
	Delete(ctx context.Context, namespace string, g workload.Gang) error
	// Clear deletes all that the namespace has; pods may still be ending when it returns.
	Clear(ctx context.Context, namespace string) error
	// Admission is how the stack's groups tell that a gang may go ahead.
	Admission() Admission
	// Stop ends what Start has started.
	Stop() error
}

// Minder is a session that must be told what becomes of its gangs, for lack of a controller that sees it.
type Minder interface {
	// PodLost is called for every pod that ends or goes before its gang has finished.
	PodLost(ctx context.Context, namespace string, g workload.Gang, pod types.UID) error
	// Finished is called when a gang has finished and its pods have succeeded.
	Finished(ctx context.Context, namespace string, g workload.Gang) error
}

// Admission of gangs.
type Admission struct {
	// Resource of the groups; empty where no group tells.
	Resource schema.GroupVersionResource
	// Of reads the name of the gang from a group, and whether it is admitted.
	Of func(group *unstructured.Unstructured) (gang string, admitted bool)
}

// PriorityClasses creates the classes of package workload.
func PriorityClasses(ctx context.Context, clients kubernetes.Interface) error {
	for _, p := range []workload.Priority{workload.PriorityLow, workload.PriorityNormal, workload.PriorityHigh} {
		class := &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: ClassOf(p)}, Value: p.Value(),
		}
		_, err := clients.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating PriorityClass %s: %w", class.Name, err)
		}
	}
	return nil
}

// ClassOf is the PriorityClass of a priority.
func ClassOf(p workload.Priority) string { return "bench-" + string(p) }

// GPU is the resource that ranks ask for.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// parallel calls do for 0 to n-1, as many at a time as there are Connections. It ends at the first error.
func parallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Connections)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
