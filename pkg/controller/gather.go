package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// gatherer reads what Decide may know. It reads caches alone, except for writes of ours that the watch does
// not show for long, and for what explains why a job waits.
type gatherer struct {
	client       client.Client
	live         liveReader
	clock        clock.PassiveClock
	owned        *ownedCache
	states       *jobStates
	counts       *jobCounts
	availability *availability
	// clusterObjects is nil where no backend has ClusterKinds.
	clusterObjects *clusterObjects
	explainer      *explainer
	// planner is nil where nobody plans who makes room.
	planner *planner
	// agent as it is configured now; nil where there is none.
	agent func() render.Agent
	// reports is nil where nobody receives any.
	reports   Reports
	lifecycle observation.Lifecycle
	// gpus are what counts as such; none: the default ones.
	gpus []string
	// gpuTolerations of ranks that request GPUs.
	gpuTolerations []corev1.Toleration
	// mlflowTrackingURI that ranks are told.
	mlflowTrackingURI string
}

// gather reads everything that concerns a job.
func (g *gatherer) gather(ctx context.Context, job *v1alpha1.TrainingJob) (*observed, error) {
	recheckAt, err := g.recheckOverdue(ctx, job)
	if err != nil {
		return nil, err
	}
	s := &observed{recheckAt: recheckAt, Snapshot: trainingjob.Snapshot{
		Job:               job,
		GPUs:              g.gpus,
		GPUTolerations:    g.gpuTolerations,
		MLflowTrackingURI: g.mlflowTrackingURI,
		// What is decided from Now must be the same after the status made a round trip through the API server.
		Now:         g.clock.Now().Truncate(statusPrecision),
		Lifecycle:   g.lifecycle,
		Waiting:     int(g.counts.waiting.Load()),
		RunningJobs: int(g.counts.running.Load()),

		Plans:      g.planner != nil,
		Preemption: g.planner.choice(job),
	}}
	g.gatherOwned(s)
	if s.backoff = g.states.backoff(job); s.backoff != nil {
		s.CreateBackoff = &s.backoff.CreateBackoff
	}
	if err := g.gatherNodes(ctx, s); err != nil {
		return nil, err
	}
	s.Backend, s.SchedulerProblem = g.availability.choose(job)
	g.gatherReport(s)
	var clusterObjects scheduler.Objects
	if len(clusterKinds(s.Backend)) > 0 {
		if clusterObjects, err = g.clusterObjects.list(ctx, g.client.Scheme(), s.Backend); err != nil {
			return nil, err
		}
	}
	s.Gang = observation.DescribeGang(s.Job, s.Backend, s.Pods, s.groupObjects(), clusterObjects)
	if err := g.gatherAdoption(ctx, s); err != nil {
		return nil, err
	}
	gatherVerdict(s, clusterObjects)
	if s.Backend != nil && job.Status.Phase == v1alpha1.PhaseQueued {
		s.Woken = wokenOf(s).Before(s.Now)
	}
	brokerAt, err := g.gatherBroker(ctx, s)
	if err != nil {
		return nil, err
	}
	if !brokerAt.IsZero() && (s.recheckAt.IsZero() || brokerAt.Before(s.recheckAt)) {
		s.recheckAt = brokerAt
	}
	s.Why = g.explainer.explain(ctx, s)
	s.OtherReason = g.states.otherReason(job.UID)
	s.ClusterUnknown = g.explainer.clusterUnknown(s)
	s.Unplaceable = g.explainer.unplaceable(s)
	return s, nil
}

// recheckOverdue asks the API server about writes of ours that the watch has not shown for assumedTimeout: an
// object may have gone before the watch saw it. What still exists stays assumed, since a slow watch must not
// look like a lost pod. It returns when the next write is overdue.
func (g *gatherer) recheckOverdue(ctx context.Context, job *v1alpha1.TrainingJob) (time.Time, error) {
	overdue, next := g.owned.overdueAssumed(job.UID)
	if len(overdue) == 0 {
		return next, nil
	}
	for _, o := range overdue {
		live, err := g.live.object(ctx, o.gvk(), o.object.GetName(), job.Namespace)
		if err != nil && !apierrors.IsNotFound(err) {
			return time.Time{}, err
		}
		g.owned.dropAssumed(job.UID, o.object.GetUID())
		if err == nil && live.GetUID() == o.object.GetUID() {
			g.owned.assume(job.UID, o.gvk(), live)
		}
	}
	_, next = g.owned.overdueAssumed(job.UID)
	return next, nil
}

// gatherOwned reads the job's objects from the cache.
func (g *gatherer) gatherOwned(s *observed) {
	for _, o := range g.owned.objects(s.Job.UID) {
		switch pod, ok := o.pod(); {
		case ok && render.IsResolver(pod):
			s.Resolvers = append(s.Resolvers, pod)
		case ok:
			s.Pods = append(s.Pods, pod)
		case o.gvk() == serviceKind:
			s.services = append(s.services, o)
		case o.gvk() == sliceKind:
			s.slices = append(s.slices, o)
		default:
			s.groups = append(s.groups, o)
		}
	}
	s.NamedAttempt = namedAttempt(s)
	attempt := fmt.Sprint(s.Job.Status.Attempt)
	if s.Job.Status.Phase.Finished() {
		attempt = noAttempt // nobody asks for departed pods any more: they are dropped
	}
	s.Departed = g.owned.departedPods(s.Job.UID, attempt)
}

// gatherNodes reads the nodes that the pods name.
func (g *gatherer) gatherNodes(ctx context.Context, s *observed) error {
	s.Nodes = map[string]observation.NodeState{}
	read := map[string]bool{}
	for _, pod := range s.Pods {
		name := pod.Spec.NodeName
		if name == "" || read[name] {
			continue
		}
		read[name] = true
		node := &corev1.Node{}
		if err := g.client.Get(ctx, types.NamespacedName{Name: name}, node); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("reading node %s: %w", name, err)
		}
		s.Nodes[name] = observation.NodeState{Ready: nodeReady(node)}
	}
	return nil
}

// gatherReport reads what rank 0 reported last, and how the agent is configured.
func (g *gatherer) gatherReport(s *observed) {
	if !spec.NeedsAgent(s.Job) {
		return
	}
	if g.agent != nil {
		s.Agent = g.agent()
	}
	if g.reports != nil && spec.Checkpoints(s.Job) != nil {
		if latest, ok := g.reports.Latest(s.Job.UID); ok {
			s.Report = &latest
		}
	}
}

// gatherVerdict reads what the gang's scheduler says of it. Of a job that was never valid nothing is read:
// the verdict would be about a gang that nobody can describe.
func gatherVerdict(s *observed, clusterObjects scheduler.Objects) {
	if !s.Gang.Known() {
		return
	}
	objs := slices.Concat(s.groupObjects(), s.adoption.objects(), clusterObjects)
	s.Verdict = s.Backend.Read(*s.Gang.Gang, objs)
}
