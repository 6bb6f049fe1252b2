// Package stack runs gangs in the ways that a benchmark compares: the TrainingJob operator on each of its
// schedulers, the same groups and pods written raw, and the peers.
//
//	stack.go        what every way has in common; registry.go lists them
//	renderer.go     stacks that render gangs as objects; client.go writes them
//	ours.go         TrainingJobs
//	trainer.go      TrainJobs of Kubeflow Trainer, on Volcano or admitted by Kueue
//	volcanojob.go   Volcano's own Jobs
//	kueuejob.go     Kubernetes' Jobs, admitted by Kueue
//	kueuejobset.go  JobSets, admitted by Kueue
//	raw.go          groups and pods without an operator, the floor: capture.go takes them from the operator
//	slowed.go       another stack made slow, to check the harness; standstill.go stops processes for it
//	configured.go   another stack with a scheduler's configuration of one's own
//	dialect.go      what ours and raw have in common on one scheduler
//	pods.go         what all stacks say of a gang's pods
//	profile.go      versions, and settings of the programs
//
// A gang looks as its stack's users write it: what they leave to a default is left to it, except where a
// webhook that a local cluster leaves out would write the default.
package stack

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	// Cluster sets in the options what the stack asks of its cluster: schedulers, add-ons and their settings. It
	// leaves all other options alone.
	Cluster(options *localcluster.Options)
	// Start starts what the stack needs next to the cluster, and returns once it is ready.
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
	return ClientConfig(e.Cluster.RESTConfig(), agent)
}

// ClientConfig makes of a cluster's configuration that of a benchmark's client with a user agent, by which
// its writes are counted. It has no limit but that of Connections.
func ClientConfig(cluster *rest.Config, agent string) *rest.Config {
	c := rest.CopyConfig(cluster)
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
	// Admission is from where it is read that a gang may go ahead; nil where nothing says so.
	Admission() *Admission
	// Stop ends what Start has started.
	Stop() error
}

// Minder is a session that must be notified of changes of its gangs, because it has no controller.
type Minder interface {
	// PodLost is called for every pod that ends or goes before its gang has finished.
	PodLost(ctx context.Context, namespace string, g workload.Gang, pod types.UID) error
	// Evicted is called when the object of Admission with this UID says, before its gang has finished, that the
	// gang must give its place back.
	Evicted(ctx context.Context, namespace string, g workload.Gang, object types.UID) error
	// Finished is called when a gang has finished and its pods have succeeded.
	Finished(ctx context.Context, namespace string, g workload.Gang) error
}

// Admission says from which objects it is read that a gang may go ahead.
type Admission struct {
	// Resource of the objects; they are in the gang's namespace.
	Resource schema.GroupVersionResource
	// Gang is the name of the gang that an object is about, "" for none.
	Gang func(object *unstructured.Unstructured) string
	// Admitted reports whether that gang may go ahead, now or before.
	Admitted func(object *unstructured.Unstructured) bool
	// Evicted reports whether that gang must give its place back; nil where the scheduler takes it itself.
	Evicted func(object *unstructured.Unstructured) bool
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

// parallel calls do for 0 to n-1, as many at a time as there are Connections. It ends at the first error.
func parallel(ctx context.Context, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Connections)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
