package backends

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// ClusterState feeds a clusterstate.Cluster, from which the reasons of waiting jobs are computed, and wakes
// those jobs when a change may give them another reason.
type ClusterState struct {
	*clusterstate.Cluster
	sources *clusterstate.Sources
	mgr     manager.Manager
	wake    memory.Waker
	// changed and nodesChanged hold one token while a change has not been acted upon: many changes make one
	// wake-up.
	changed, nodesChanged chan struct{}
}

// NewClusterState adds the sources of the state to the manager; without namespaces it covers all.
func NewClusterState(mgr manager.Manager, namespaces []string, wake memory.Waker) (*ClusterState, error) {
	// A client of its own: the manager's cache holds only what carries our label.
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("making a client for the cluster state: %w", err)
	}
	s := &ClusterState{
		Cluster: clusterstate.New(memory.JobKind.Kind, namespaces...), mgr: mgr, wake: wake,
		changed: make(chan struct{}, 1), nodesChanged: make(chan struct{}, 1),
	}
	s.sources = clusterstate.NewSources(s.Cluster, c, func() { leaveToken(s.changed) })
	return s, mgr.Add(s.sources)
}

// Follow feeds the objects of a kind that an Explainer reads into the state.
func (s *ClusterState) Follow(e scheduler.Explainer, gvk schema.GroupVersionKind) error {
	return s.sources.Follow(e, gvk)
}

// FollowDevices feeds one of clusterstate.DeviceKinds into the state.
func (s *ClusterState) FollowDevices(gvk schema.GroupVersionKind) error {
	return s.sources.FollowDevices(gvk)
}

// leaveToken leaves a token in a channel that holds one, unless there is one already.
func leaveToken(in chan<- struct{}) {
	select {
	case in <- struct{}{}:
	default:
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby's state is warm when it is elected.
func (s *ClusterState) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it takes nodes and jobs from the manager's own informers, and wakes
// jobs.
func (s *ClusterState) Start(ctx context.Context) error {
	nodes, err := s.listen(ctx, &corev1.Node{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.setNode(o) },
		UpdateFunc: func(_, o any) { s.setNode(o) },
		DeleteFunc: func(o any) {
			if n, ok := finalState(o).(*corev1.Node); ok {
				s.DropNode(n.Name)
			}
		},
	})
	if err != nil {
		return err
	}
	jobs, err := s.listen(ctx, &v1alpha1.TrainingJob{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.setJob(o) },
		UpdateFunc: func(_, o any) { s.setJob(o) },
		DeleteFunc: func(o any) {
			if j, ok := finalState(o).(*v1alpha1.TrainingJob); ok {
				s.DropJob(client.ObjectKeyFromObject(j))
			}
		},
	})
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced, jobs.HasSynced) {
		return nil // the manager ends
	}
	s.NodesSynced()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.changed:
			s.wake.Wake(ctx, s.Waiting(), turn.Last)
		case <-s.nodesChanged:
			s.wake.Wake(ctx, s.WaitingForNodes(), turn.Usual)
		}
	}
}

func (s *ClusterState) listen(
	ctx context.Context, of client.Object, handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	informer, err := s.mgr.GetCache().GetInformer(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("listening to %T: %w", of, err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return nil, fmt.Errorf("listening to %T: %w", of, err)
	}
	return registration, nil
}

func (s *ClusterState) setNode(o any) {
	if n, ok := o.(*corev1.Node); ok && s.SetNode(n) {
		leaveToken(s.nodesChanged)
	}
}

func (s *ClusterState) setJob(o any) {
	if j, ok := o.(*v1alpha1.TrainingJob); ok {
		s.SetJob(client.ObjectKeyFromObject(j), JobOf(j))
	}
}

// finalState returns the object that a deletion event carries.
func finalState(o any) any {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		return gone.Obj
	}
	return o
}

// JobOf returns what the cluster state keeps of a job. Its place in the queue counts from its creation,
// as it does for the schedulers that keep a job's place.
func JobOf(job *v1alpha1.TrainingJob) clusterstate.Job {
	j := clusterstate.Job{
		Queue:         spec.Queue(job),
		PriorityClass: job.Spec.RunPolicy.SchedulingPolicy.PriorityClass,
		Since:         job.CreationTimestamp,
		Waiting: job.Status.Phase == v1alpha1.PhaseQueued && !spec.Suspended(job) &&
			job.DeletionTimestamp.IsZero(),
	}
	j.ForNodes = j.Waiting && WaitsForNodes(job)
	if s := job.Status.Scheduling; s != nil {
		j.Scheduler = string(s.Scheduler)
	}
	return j
}

// WaitsForNodes reports whether no node matches the job: it waits for a change of the nodes.
func WaitsForNodes(job *v1alpha1.TrainingJob) bool {
	return blockedBy(job, v1alpha1.ReasonNoNodeMatches, v1alpha1.ReasonNoNodeLargeEnough)
}

// WaitsWithoutPods reports whether the reported reason is one for which the operator creates no pods: the job
// waits for nodes, or its queue cannot take it (scheduler.NotAdmissible).
func WaitsWithoutPods(job *v1alpha1.TrainingJob) bool {
	return WaitsForNodes(job) || blockedBy(job, v1alpha1.ReasonQueueNotFound, v1alpha1.ReasonQueueClosed,
		v1alpha1.ReasonExceedsQuota)
}

func blockedBy(job *v1alpha1.TrainingJob, reasons ...string) bool {
	s := job.Status.Scheduling
	return s != nil && s.Blocker != nil && slices.Contains(reasons, s.Blocker.Reason)
}
