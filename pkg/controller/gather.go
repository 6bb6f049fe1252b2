package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/forecaster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// gatherer reads the input of Decide. It reads caches only, except for our own writes that the watch does not
// show for long, and for the claims that explain why a job waits.
type gatherer struct {
	client       client.Client
	live         memory.LiveReader
	clock        clock.PassiveClock
	owned        *memory.OwnedCache
	states       *memory.JobStates
	counts       *meter.JobCounts
	availability *backends.Availability
	// backends.ClusterObjects is nil where no backend has ClusterKinds.
	clusterObjects *backends.ClusterObjects
	explainer      *explainer
	// planner is nil where preemption planning is off.
	planner *planner.Planner
	// forecaster is nil where forecasts are off.
	forecaster *forecaster.Forecaster
	// agent as it is configured now; nil where there is none.
	agent func() render.Agent
	// reports is nil where no server receives reports.
	reports Reports
	// beats is nil where no server receives them.
	beats Beats
	// leadsSince is the time of the first reconcile, before which this process did not lead.
	leadsSince func() time.Time
	lifecycle  observation.Lifecycle
	// gpus are what counts as such; none: the default ones.
	gpus []string
	// gpuDeviceClasses are the device classes that count as GPUs.
	gpuDeviceClasses []string
	// gpuTolerations of ranks that request GPUs.
	gpuTolerations []corev1.Toleration
	// mlflowTrackingURI that ranks get.
	mlflowTrackingURI string
}

// gather reads everything that concerns a job.
func (g *gatherer) gather(ctx context.Context, job *v1alpha1.TrainingJob) (*memory.Observed, error) {
	recheckAt, err := g.recheckOverdue(ctx, job)
	if err != nil {
		return nil, err
	}
	s := &memory.Observed{RecheckAt: recheckAt, Snapshot: trainingjob.Snapshot{
		Job:               job,
		GPUs:              g.gpus,
		Devices:           g.devices(ctx, job),
		GPUTolerations:    g.gpuTolerations,
		MLflowTrackingURI: g.mlflowTrackingURI,
		// What is decided from Now must be the same after the status made a round trip through the API server.
		Now:         g.clock.Now().Truncate(memory.StatusPrecision),
		Lifecycle:   g.lifecycle,
		Waiting:     int(g.counts.Waiting.Load()),
		RunningJobs: int(g.counts.Running.Load()),

		Plans:      g.planner != nil,
		Preemption: g.planner.PlanFor(job),
	}}
	g.gatherOwned(s)
	if s.Backoff = g.states.Backoff(job); s.Backoff != nil {
		s.CreateBackoff = &s.Backoff.CreateBackoff
	}
	if err := g.gatherNodes(ctx, s); err != nil {
		return nil, err
	}
	s.Backend, s.SchedulerProblem = g.availability.Choose(job)
	g.gatherReport(s)
	g.gatherBeats(ctx, s)
	var clusterObjects scheduler.Objects
	if kinds := g.availability.ClusterKinds(s.Backend, spec.Within(job) != ""); len(kinds) > 0 {
		if clusterObjects, err = g.clusterObjects.List(ctx, g.client.Scheme(), kinds); err != nil {
			return nil, err
		}
	}
	s.Gang = observation.DescribeGang(
		s.Job, s.Backend, s.Pods, s.GroupObjects(), clusterObjects, g.planner.GatesAdmission(job))
	if err := g.gatherAdoption(ctx, s); err != nil {
		return nil, err
	}
	gatherVerdict(s, clusterObjects)
	if s.Backend != nil && job.Status.Phase == v1alpha1.PhaseQueued {
		s.Woken = wokenOf(s).Before(s.Now)
	}
	g.forecaster.Advise(&s.Snapshot)
	brokerAt, err := g.planner.Advise(ctx, &s.Snapshot)
	if err != nil {
		return nil, err
	}
	if !brokerAt.IsZero() && (s.RecheckAt.IsZero() || brokerAt.Before(s.RecheckAt)) {
		s.RecheckAt = brokerAt
	}
	s.Why = g.explainer.explain(ctx, s)
	s.OtherReason = g.states.OtherReason(job.UID)
	s.ClusterUnknown = g.explainer.clusterUnknown(s)
	s.Unplaceable = g.explainer.unplaceable(s)
	return s, nil
}

// recheckOverdue reads the objects of our writes that the watch has not shown for memory.AssumedTimeout: an
// object may be deleted before the watch shows it. What exists stays assumed, since a slow watch must not
// look like a lost pod. It returns when the next write is overdue.
func (g *gatherer) recheckOverdue(ctx context.Context, job *v1alpha1.TrainingJob) (time.Time, error) {
	overdue, next := g.owned.OverdueAssumed(job.UID)
	if len(overdue) == 0 {
		return next, nil
	}
	for _, o := range overdue {
		live, err := g.live.Object(ctx, o.GVK(), o.Object.GetName(), job.Namespace)
		if err != nil && !apierrors.IsNotFound(err) {
			return time.Time{}, err
		}
		g.owned.DropAssumed(job.UID, o.Object.GetUID())
		if err == nil && live.GetUID() == o.Object.GetUID() {
			g.owned.Assume(job.UID, o.GVK(), live)
		}
	}
	_, next = g.owned.OverdueAssumed(job.UID)
	return next, nil
}

// gatherOwned reads the job's objects from the cache.
func (g *gatherer) gatherOwned(s *memory.Observed) {
	for _, o := range g.owned.Objects(s.Job.UID) {
		switch pod, ok := o.Pod(); {
		case ok && render.IsResolver(pod):
			s.Resolvers = append(s.Resolvers, pod)
		case ok:
			s.Pods = append(s.Pods, pod)
		case o.GVK() == memory.ServiceKind:
			s.Services = append(s.Services, o)
		case o.GVK() == memory.SliceKind:
			s.Slices = append(s.Slices, o)
		default:
			s.Groups = append(s.Groups, o)
		}
	}
	s.NamedAttempt = namedAttempt(s)
	attempt := fmt.Sprint(s.Job.Status.Attempt)
	if s.Job.Status.Phase.Finished() {
		attempt = memory.NoAttempt // a finished job needs no departed pods: they are dropped
	}
	s.Departed = g.owned.DepartedPods(s.Job.UID, attempt)
}

// gatherNodes reads the nodes that the pods name.
func (g *gatherer) gatherNodes(ctx context.Context, s *memory.Observed) error {
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
		s.Nodes[name] = observation.NodeState{
			Ready: memory.IsNodeReady(node), Domain: node.Labels[spec.Within(s.Job)],
		}
	}
	return nil
}

// gatherReport reads what rank 0 reported last, and how the agent is configured.
func (g *gatherer) gatherReport(s *memory.Observed) {
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

// gatherVerdict reads the verdict of the gang's scheduler. A job that was never valid has no gang that could
// get one.
func gatherVerdict(s *memory.Observed, clusterObjects scheduler.Objects) {
	if !s.Gang.Known() {
		return
	}
	objs := slices.Concat(s.GroupObjects(), s.Adoption.Objects(), clusterObjects)
	s.Verdict = s.Backend.Read(*s.Gang.Gang, objs)
}

// namedAttempt returns the attempt of the slices that exist; if they belong to several, one that is not the
// current one; -1 for a label that is no attempt.
func namedAttempt(s *memory.Observed) int32 {
	var named int32
	for _, o := range s.Slices {
		if o.Object.GetDeletionTimestamp() != nil {
			continue
		}
		n, err := strconv.ParseInt(o.Object.GetLabels()[v1alpha1.LabelAttempt], 10, 32)
		if err != nil {
			n = -1
		}
		if named = int32(n); named != s.Job.Status.Attempt {
			break
		}
	}
	return named
}

// wokenOf reads how often the scheduler was woken for the gang.
func wokenOf(s *memory.Observed) observation.Woken {
	objects := s.GroupObjects()
	for _, pod := range s.Pods {
		objects = append(objects, pod)
	}
	return observation.WokenOf(objects)
}
