package planner

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/contention"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/forecaster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	// planPeriod is the shortest time between two passes of the planner.
	planPeriod = 5 * time.Second
	// planShare: after a pass the planner rests that many times as long, so that it uses at most a twentieth of
	// one processor in a cluster of any size.
	planShare = 20
)

// Options of the planner, as the admin configures them.
type Options struct {
	// MinRun is how long a gang runs before it can be a victim, if there are others.
	MinRun time.Duration
	// LossCap bounds the unsaved training time that counts as the loss of a victim.
	LossCap time.Duration
	// UnknownStart is the assumed duration of another start of a gang.
	UnknownStart time.Duration
	// MaxPlans is the number of waiting gangs with victims at the same time.
	MaxPlans int
	// MaxDelay is how long a gang waits for the checkpoints of its victims.
	MaxDelay time.Duration
	// MeanRun stands for the time between two interruptions of a gang that never had one; default an hour.
	MeanRun time.Duration
	// Broker carries out the plans for gangs whose priority class names a waiting class. MaxRounds is the number
	// of plans for one attempt. Without Broker nothing acts on a plan.
	Broker    bool
	MaxRounds int
	// Backfill keeps capacity for large gangs, only with Broker; nil: it does not. The planner sets its Placing,
	// MaxNodes and MaxKeepsOff.
	Backfill *reservation.Policy
}

const (
	// planPatience is how long a gang does not fit before the planner looks for victims: most start without.
	// With Broker it is 0, since the reason of a wait is written only after such a time.
	planPatience = 2 * time.Second
	// placingTime is how long a scheduler can take to use the capacity that victims have freed.
	placingTime = 30 * time.Second
	// defaultMeanRun is a rough guess: with a save of half a minute gangs in danger save every 8 minutes.
	defaultMeanRun = time.Hour
)

func (o Options) policy() preemption.Policy {
	p := preemption.Policy{
		MinRun: o.MinRun, LossCap: o.LossCap, UnknownStart: o.UnknownStart, MaxPlans: o.MaxPlans,
		Heartbeat: decision.Heartbeat, Patience: planPatience, MeanRun: cmp.Or(o.MeanRun, defaultMeanRun),
	}
	if o.Broker {
		p.Patience, p.MaxRounds, p.Placing = 0, o.MaxRounds, placingTime
	}
	return p
}

// Planner plans which gangs yield to those that do not fit. It runs in parallel to the reconciles, and keeps
// the plans and what victims must do for them. It writes nothing. It is a manager.Runnable of the leader; one
// goroutine plans.
type Planner struct {
	Dependencies
	policy preemption.Policy
	// brokering: the operator carries out the plans. defaults hold where a priority class sets nothing.
	brokering bool
	defaults  contention.Class
	// backfill is the policy of reservations; nil: there are none.
	backfill *reservation.Policy
	// lengths of gangs, and when they were computed. Only Plan uses them.
	lengths   forecaster.Lengths
	lengthsAt time.Time

	// requests of the ranks of jobs: to render those of a thousand jobs in every pass would be most of its work.
	requests map[types.UID]rankRequests

	mu       sync.Mutex
	statuses map[preemption.Ref]*v1alpha1.PreemptionStatus
	brokers  brokers
	reserved reserved
}

// Dependencies are what a planner reads and calls.
type Dependencies struct {
	// Client reads the jobs from the cache, Live from the API server.
	Client, Live client.Reader
	Clock        clock.WithTicker
	State        *backends.ClusterState
	Owned        *memory.OwnedCache
	Counts       *meter.JobCounts
	Backends     []scheduler.Backend
	// GPUs are the names and patterns of resources that count as GPUs; none: the default ones.
	GPUs []string
	// Reports is nil where no server receives reports.
	Reports ReportTimes
	// Steps are what trainers have reported; nil where no server receives reports.
	Steps forecaster.Steps
	Waker memory.Waker
	// CountOverruled counts a plan whose victims are not those that a scheduler ends.
	CountOverruled func()
	// ReportPanic reports a panic in an activity; the job is nil where the panic concerns no single job.
	ReportPanic func(ctx context.Context, job *v1alpha1.TrainingJob, activity string, caught *panics.Panic)
}

// ReportTimes are what the planner must know of reports (see Reports).
type ReportTimes interface {
	Reported(job types.UID) (attempt int32, at time.Time, known bool)
}

// rankRequests are what ranks request, by role, as one generation of the job's spec has it.
type rankRequests struct {
	generation int64
	byRole     map[string]scheduler.Amounts
}

// New returns a planner; nil without options.
func New(o *Options, d Dependencies) *Planner {
	if o == nil {
		return nil
	}
	return &Planner{
		Dependencies: d, policy: o.policy(), brokering: o.Broker,
		defaults: contention.Class{MaxDelay: o.MaxDelay}, backfill: o.reservations(),
	}
}

// Start implements manager.Runnable.
func (p *Planner) Start(ctx context.Context) error {
	rest, last := p.period(), time.Duration(0)
	for {
		timer := p.Clock.NewTimer(rest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		began := p.Clock.Now()
		p.Pass(ctx)
		took := p.Clock.Since(began)
		rest, last = restAfter(p.period(), last, took), took
	}
}

// restAfter returns how long the planner rests after its last two passes. The shorter one counts: a single
// slow pass has waited for the processor, and a long rest would delay plans and reservations.
func restAfter(period, last, took time.Duration) time.Duration {
	return max(period, planShare*min(last, took))
}

// Pass makes one pass and wakes the jobs that it concerns. Neither an error nor a panic stops the next pass.
func (p *Planner) Pass(ctx context.Context) {
	if caught := panics.Catch(func() {
		wake, err := p.Plan(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Planning preemptions")
		}
		p.Waker.Wake(ctx, wake, turn.Usual)
	}); caught != nil {
		p.ReportPanic(ctx, nil, meter.ActivityPlan, caught)
	}
}

// recovered reports the panic of a step of a pass that concerns one job.
func (p *Planner) recovered(ctx context.Context) func(*v1alpha1.TrainingJob, *panics.Panic) {
	return func(job *v1alpha1.TrainingJob, caught *panics.Panic) {
		p.ReportPanic(ctx, job, meter.ActivityPlan, caught)
	}
}

// period is the shortest time between two passes.
func (p *Planner) period() time.Duration {
	if p.brokering {
		return brokerPeriod
	}
	return planPeriod
}

// Plan makes one pass. It returns the jobs whose status has to be written at once.
func (p *Planner) Plan(ctx context.Context) ([]types.NamespacedName, error) {
	// Jobs that a new process has not counted yet may wait, and must keep their plans and reservations.
	if p.Counts.Complete.Load() && p.Counts.Waiting.Load() == 0 {
		p.keep(nil)
		if p.brokering {
			return p.broker(contention.Cluster{}), nil
		}
		return nil, nil
	}
	state := p.State.State()
	if !state.Complete || p.brokering && !p.State.ClassesListed() {
		return nil, nil
	}
	list := &v1alpha1.TrainingJobList{}
	if err := p.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // nothing here changes them
		return nil, fmt.Errorf("listing the jobs: %w", err)
	}
	// In full seconds the loss of a gang is that of its GPUs divided by their number.
	now := p.Clock.Now().Truncate(memory.StatusPrecision)
	p.measure(list.Items, now)
	jobs := p.contenders(ctx, list, now)
	cluster := contention.Cluster{
		Now: now, State: state, Jobs: jobs, GPUs: p.GPUs, Recovered: p.recovered(ctx),
	}
	if p.brokering {
		return p.broker(cluster), nil
	}
	before := p.keep(contention.Choose(p.policy, cluster))
	var wake []types.NamespacedName
	for _, j := range jobs {
		ref := preemption.Ref{UID: j.UID, Attempt: j.Status.Attempt}
		if status := p.PlanFor(j.TrainingJob); status != nil && outcomeChanged(before[ref], status) {
			wake = append(wake, client.ObjectKeyFromObject(j.TrainingJob))
		}
	}
	return wake, nil
}

// outcomeChanged reports whether the status is written at once (see status.refreshPreemption). Other changes
// wait for the next reconcile of the job.
func outcomeChanged(before, now *v1alpha1.PreemptionStatus) bool {
	planned := v1alpha1.PreemptionPlanned
	return before == nil || (before.Outcome == planned) != (now.Outcome == planned)
}

// keep replaces the statuses, and returns those before.
func (p *Planner) keep(
	statuses map[preemption.Ref]*v1alpha1.PreemptionStatus,
) map[preemption.Ref]*v1alpha1.PreemptionStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.statuses
	p.statuses = statuses
	return before
}

// PlanFor returns the plan for a job as the last pass made it; nil: there is none, or p is nil.
func (p *Planner) PlanFor(job *v1alpha1.TrainingJob) *v1alpha1.PreemptionStatus {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.statuses[preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}]
}

// contenders returns the jobs that do not fit or hold nodes, except a job whose description panics.
func (p *Planner) contenders(
	ctx context.Context, list *v1alpha1.TrainingJobList, now time.Time,
) []contention.Job {
	var jobs []contention.Job
	requests := make(map[types.UID]rankRequests, len(p.requests))
	for i := range list.Items {
		job := &list.Items[i]
		waits := contention.Waits
		if p.brokering {
			waits = contention.AwaitsBroker
		}
		if !spec.HoldsNodes(job) && !waits(job) && !(p.backfill != nil && contention.Queued(job)) {
			continue
		}
		if caught := panics.Catch(func() {
			requests[job.UID] = p.requestsOf(job)
			jobs = append(jobs, p.contender(job, requests[job.UID].byRole, now))
		}); caught != nil {
			p.ReportPanic(ctx, job, meter.ActivityPlan, caught)
		}
	}
	p.requests = requests
	return jobs
}

func (p *Planner) contender(
	job *v1alpha1.TrainingJob, requests map[string]scheduler.Amounts, now time.Time,
) contention.Job {
	c := contention.Job{
		TrainingJob: job, Requests: requests, Pods: p.podsOf(job.UID),
		Value: p.State.Waiter(client.ObjectKeyFromObject(job), backends.JobOf(job)).Priority,
		Class: p.classOf(job), Blocked: p.blockedSince(job, now),
	}
	if p.brokering {
		c.Proposed = p.PlanFor(job)
	}
	if s := job.Status.Scheduling; s != nil {
		for _, b := range p.Backends {
			if b.Name() == string(s.Scheduler) {
				c.Backend = b
			}
		}
	}
	p.joinContest(&c)
	p.setEnd(&c, now)
	if p.Reports != nil {
		if attempt, at, known := p.Reports.Reported(job.UID); known && attempt == job.Status.Attempt {
			c.Reported = at
		}
	}
	if c.Reported.IsZero() {
		c.Reported = p.presumed(job)
	}
	return c
}

func (p *Planner) requestsOf(job *v1alpha1.TrainingJob) rankRequests {
	if known, ok := p.requests[job.UID]; ok && known.generation == job.Generation {
		return known
	}
	return rankRequests{job.Generation, contention.RequestsOf(job)}
}

func (p *Planner) podsOf(job types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range p.Owned.Objects(job) {
		if pod, ok := o.Pod(); ok && !render.IsResolver(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}
