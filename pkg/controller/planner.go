package controller

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
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	// planPeriod is the shortest time between two passes of the planner.
	planPeriod = 5 * time.Second
	// planShare: a pass is followed by a rest that is so many times as long, so that planning takes no more than
	// a twentieth of one processor, however large the cluster is.
	planShare = 20
)

// Planning is what the admins have set of the planner.
type Planning struct {
	// MinRun is how long a gang runs before it is named, if others can be.
	MinRun time.Duration
	// LossCap bounds the unsaved training that counts for a gang.
	LossCap time.Duration
	// UnknownStart is what another start of a gang is taken to last.
	UnknownStart time.Duration
	// MaxPlans is for how many waiting gangs somebody is named at the same time.
	MaxPlans int
	// MaxDelay is how long a gang may be made to wait for others' saves.
	MaxDelay time.Duration
	// MeanRun stands for the time between two interruptions of a gang that never had one; default an hour.
	MeanRun time.Duration
	// Broker carries the plans out, for gangs whose priority class names a waiting class; MaxRounds is how often
	// room is made for one attempt. Without it nothing acts on a plan.
	Broker    bool
	MaxRounds int
}

const (
	// planPatience is how long a gang lacks room before others are looked at: most find it by themselves. Where
	// plans are carried out there is none, since a reason why a gang waits has stood for as long before it is
	// written.
	planPatience = 2 * time.Second
	// placingTime is how long a scheduler may take to use the room that others have made.
	placingTime = 30 * time.Second
	// defaultMeanRun is a rough guess: with a save of half a minute gangs in danger save every 8 minutes.
	defaultMeanRun = time.Hour
)

func (o Planning) policy() preemption.Policy {
	p := preemption.Policy{
		MinRun: o.MinRun, LossCap: o.LossCap, UnknownStart: o.UnknownStart, MaxPlans: o.MaxPlans,
		Heartbeat: decision.Heartbeat, Patience: planPatience, MeanRun: cmp.Or(o.MeanRun, defaultMeanRun),
	}
	if o.Broker {
		p.Patience, p.MaxRounds, p.Placing = 0, o.MaxRounds, placingTime
	}
	return p
}

// planner finds out, beside the reconciles, whom the gangs that lack room would have make some, and keeps it
// for their reconciles, as well as what those have to do about plans that are written down. It writes
// nothing. It is a manager.Runnable of the leader; one goroutine plans.
type planner struct {
	policy preemption.Policy
	// brokering: what is planned is carried out. defaults hold where a priority class does not say.
	brokering bool
	defaults  contention.Class
	gpus      []string

	client   client.Reader
	clock    clock.WithTicker
	state    *backends.ClusterState
	owned    *memory.OwnedCache
	counts   *meter.JobCounts
	backends []scheduler.Backend
	// reports is nil where nobody receives any.
	reports reportTimes
	wake    memory.Waker
	// overruled counts a plan for which a scheduler ends others.
	overruled func()
	panics    *panicReporter

	// requests of the ranks of jobs: rendering each of a thousand anew in every pass would be most of its work.
	requests map[types.UID]rankRequests

	mu      sync.Mutex
	said    map[preemption.Ref]*v1alpha1.PreemptionStatus
	brokers brokers
}

// reportTimes are what the planner must know of reports (see Reports).
type reportTimes interface {
	Reported(job types.UID) (attempt int32, at time.Time, known bool)
}

// rankRequests are what ranks request, by role, as one generation of the job's spec has it.
type rankRequests struct {
	generation int64
	byRole     map[string]scheduler.Amounts
}

// newPlanner returns a planner; nil: the options ask for none.
func newPlanner(d dependencies, o Options, owned *memory.OwnedCache, reporter *panicReporter) *planner {
	if o.Planning == nil {
		return nil
	}
	p := &planner{
		policy: o.Planning.policy(), client: o.Client, clock: o.Clock, state: d.clusterState, owned: owned,
		counts: d.counts, backends: o.Backends, wake: d.woken,
		overruled: d.metrics.CountOverruled,
		brokering: o.Planning.Broker, defaults: contention.Class{MaxDelay: o.Planning.MaxDelay}, gpus: o.GPUs,
		panics: reporter,
	}
	if o.Reports != nil {
		p.reports = o.Reports
	}
	return p
}

// Start implements manager.Runnable.
func (p *planner) Start(ctx context.Context) error {
	rest := p.period()
	for {
		timer := p.clock.NewTimer(rest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		began := p.clock.Now()
		p.pass(ctx)
		rest = max(p.period(), planShare*p.clock.Since(began))
	}
}

// pass makes one pass and wakes the jobs that have something to do. Neither an error nor a panic stops the
// next pass.
func (p *planner) pass(ctx context.Context) {
	if caught := panics.Catch(func() {
		wake, err := p.plan(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Planning preemptions")
		}
		p.wake.Wake(ctx, wake, turn.Usual)
	}); caught != nil {
		p.panics.report(ctx, nil, meter.ActivityPlan, caught)
	}
}

// recovered reports the panic of a step of a pass that concerns one job.
func (p *planner) recovered(ctx context.Context) func(*v1alpha1.TrainingJob, *panics.Panic) {
	return func(job *v1alpha1.TrainingJob, caught *panics.Panic) {
		p.panics.report(ctx, job, meter.ActivityPlan, caught)
	}
}

// period is the shortest time between two passes.
func (p *planner) period() time.Duration {
	if p.brokering {
		return brokerPeriod
	}
	return planPeriod
}

// plan makes one pass. It returns the jobs that have something to write at once.
func (p *planner) plan(ctx context.Context) ([]types.NamespacedName, error) {
	if p.counts.Waiting.Load() == 0 {
		p.keep(nil)
		if p.brokering {
			return p.broker(contention.Cluster{}), nil
		}
		return nil, nil
	}
	state := p.state.State()
	if !state.Complete || p.brokering && !p.state.ClassesListed() {
		return nil, nil
	}
	list := &v1alpha1.TrainingJobList{}
	if err := p.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // nothing here changes them
		return nil, fmt.Errorf("listing the jobs: %w", err)
	}
	// In whole seconds a gang loses what its GPUs lose together, divided by their number.
	now := p.clock.Now().Truncate(memory.StatusPrecision)
	jobs := p.contenders(ctx, list, now)
	cluster := contention.Cluster{
		Now: now, State: state, Jobs: jobs, GPUs: p.gpus, Recovered: p.recovered(ctx),
	}
	if p.brokering {
		return p.broker(cluster), nil
	}
	before := p.keep(contention.Choose(p.policy, cluster))
	var wake []types.NamespacedName
	for _, j := range jobs {
		ref := preemption.Ref{UID: j.UID, Attempt: j.Status.Attempt}
		if said := p.choice(j.TrainingJob); said != nil && isNews(before[ref], said) {
			wake = append(wake, client.ObjectKeyFromObject(j.TrainingJob))
		}
	}
	return wake, nil
}

// isNews reports whether something is written at once (see status.refreshPreemption); else a job's next look
// at why it waits is early enough.
func isNews(before, now *v1alpha1.PreemptionStatus) bool {
	planned := v1alpha1.PreemptionPlanned
	return before == nil || (before.Outcome == planned) != (now.Outcome == planned)
}

// keep what was said, and return what was before.
func (p *planner) keep(
	said map[preemption.Ref]*v1alpha1.PreemptionStatus,
) map[preemption.Ref]*v1alpha1.PreemptionStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.said
	p.said = said
	return before
}

// choice for a job as the last pass made it; nil: none, or nobody plans.
func (p *planner) choice(job *v1alpha1.TrainingJob) *v1alpha1.PreemptionStatus {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said[preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}]
}

// contenders are the jobs that lack room or hold nodes. A job whose description panics is left out.
func (p *planner) contenders(
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
		if !contention.HoldsNodes(job) && !waits(job) {
			continue
		}
		if caught := panics.Catch(func() {
			requests[job.UID] = p.requestsOf(job)
			jobs = append(jobs, p.contender(job, requests[job.UID].byRole, now))
		}); caught != nil {
			p.panics.report(ctx, job, meter.ActivityPlan, caught)
		}
	}
	p.requests = requests
	return jobs
}

func (p *planner) contender(
	job *v1alpha1.TrainingJob, requests map[string]scheduler.Amounts, now time.Time,
) contention.Job {
	c := contention.Job{
		TrainingJob: job, Requests: requests, Pods: p.podsOf(job.UID),
		Value: p.state.Waiter(client.ObjectKeyFromObject(job), backends.JobOf(job)).Priority,
		Class: p.classOf(job), Blocked: p.blockedSince(job, now),
	}
	if p.brokering {
		c.Proposed = p.choice(job)
	}
	if s := job.Status.Scheduling; s != nil {
		for _, b := range p.backends {
			if b.Name() == string(s.Scheduler) {
				c.Backend = b
			}
		}
	}
	p.joinContest(&c)
	if p.reports != nil {
		if attempt, at, known := p.reports.Reported(job.UID); known && attempt == job.Status.Attempt {
			c.Reported = at
		}
	}
	if c.Reported.IsZero() {
		c.Reported = p.presumed(job)
	}
	return c
}

func (p *planner) requestsOf(job *v1alpha1.TrainingJob) rankRequests {
	if known, ok := p.requests[job.UID]; ok && known.generation == job.Generation {
		return known
	}
	return rankRequests{job.Generation, contention.RequestsOf(job)}
}

func (p *planner) podsOf(job types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range p.owned.Objects(job) {
		if pod, ok := o.Pod(); ok && !render.IsResolver(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}
