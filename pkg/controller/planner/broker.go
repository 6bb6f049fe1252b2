package planner

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/contention"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	// brokerPeriod is the shortest time between two passes of a planner whose plans the operator carries out. A
	// plan that a job has written waits for the next pass.
	brokerPeriod = time.Second
	// startPatience is how long a new process holds gangs back before its first pass: capacity may be reserved,
	// or their priority classes are not read yet.
	startPatience = 30 * time.Second
)

// brokers is the state of a planner whose plans the operator carries out. The planner's mutex guards it.
type brokers struct {
	orders contention.Orders
	// passed is set once the orders are those of a pass.
	passed bool
	// began is when the process first gathered a job.
	began time.Time
	// blocked is since when gangs have not fit, for those whose status does not show it yet.
	blocked map[preemption.Ref]time.Time
	// held are the jobs that wait because capacity is reserved: they are woken when a reservation ends.
	held map[types.NamespacedName]bool
}

// broker makes a pass of a planner whose plans the operator carries out. It continues the plans in the
// statuses, and returns the jobs to reconcile at once.
func (p *Planner) broker(cluster contention.Cluster) []types.NamespacedName {
	orders := contention.Broker(p.policy, cluster)
	p.mu.Lock()
	defer p.mu.Unlock()
	wake := map[types.NamespacedName]bool{}
	blocked := map[preemption.Ref]time.Time{}
	for i := range cluster.Jobs {
		j := &cluster.Jobs[i]
		ref := preemption.Ref{UID: j.UID, Attempt: j.Status.Attempt}
		name := client.ObjectKeyFromObject(j.TrainingJob)
		if status := orders.Statuses[ref]; status != nil {
			if at := status.BlockedTime; at != nil {
				blocked[ref] = at.Time
			}
			wake[name] = planChanged(j.Status.Scheduling.Preemption, status)
		}
		_, goes := orders.GiveWay[ref]
		_, saves := orders.SaveAhead[ref]
		if goes || saves || orders.Spare[ref] != p.brokers.orders.Spare[ref] {
			wake[name] = true
		}
		if orders.Overruled[ref] && !p.brokers.orders.Overruled[ref] {
			p.CountOverruled()
		}
	}
	p.reserve(cluster, &orders, wake)
	if over(p.brokers.orders.Reserved, orders.Reserved) {
		for name := range p.brokers.held {
			wake[name] = true
		}
		p.brokers.held = nil
	}
	p.statuses, p.brokers.orders, p.brokers.passed, p.brokers.blocked = orders.Statuses, orders, true, blocked
	var names []types.NamespacedName
	for name, now := range wake {
		if now {
			names = append(names, name)
		}
	}
	return names
}

// joinContest describes the quota that a gang holds or waits for, if its scheduler decides by quotas.
func (p *Planner) joinContest(c *contention.Job) {
	quotas := scheduler.Of(c.Backend).QuotaSystem
	if quotas == nil || !p.brokering || !spec.HoldsNodes(c.TrainingJob) &&
		!contention.AwaitsBroker(c.TrainingJob) && (p.backfill == nil || !contention.Queued(c.TrainingJob)) {
		return
	}
	objects := memory.ObjectsOf(c.Backend, p.Owned.Objects(c.UID))
	contest, known := quotas.Contest(objects, c.Requests, p.State.State())
	if known {
		c.Contest, c.Value = &contest, contest.Value
	}
}

// planChanged reports whether the status that is planned for a job differs so that the job writes it at once.
func planChanged(written, planned *v1alpha1.PreemptionStatus) bool {
	if written == nil {
		return true
	}
	return written.Phase != planned.Phase || written.Round != planned.Round ||
		written.VictimCount != planned.VictimCount || outcomeChanged(written, planned)
}

// over reports whether a reservation has ended.
func over(before, now []contention.Reservation) bool {
	still := map[preemption.Ref]bool{}
	for i := range now {
		still[now[i].For] = true
	}
	for i := range before {
		if !still[before[i].For] {
			return true
		}
	}
	return false
}

// blockedSince returns since when a gang has not fit: by its status, else by the last pass, else now.
func (p *Planner) blockedSince(job *v1alpha1.TrainingJob, now time.Time) time.Time {
	if !p.brokering || !contention.AwaitsBroker(job) {
		return time.Time{}
	}
	if st := job.Status.Scheduling.Preemption; st != nil && st.BlockedTime != nil {
		return st.BlockedTime.Time
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, known := p.brokers.blocked[preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}]; known {
		return at
	}
	return now
}

// Advise sets in a snapshot what the plans of other jobs require of the gang, and the class under which its
// ranks wait. A new process does not know everything yet: it holds the gang back for a moment, and Advise
// returns when to call it again.
func (p *Planner) Advise(ctx context.Context, s *trainingjob.Snapshot) (again time.Time, err error) {
	if p == nil || !p.brokering {
		s.Backfill = none
		s.Spare = new(bool) // a gang that a former process exempted is not exempt any more
		return time.Time{}, nil
	}
	s.Brokers = true
	if class := s.Job.Spec.RunPolicy.SchedulingPolicy.PriorityClass; class != "" {
		settings, problem := contention.ClassOf(class, p.State.Class, p.defaults)
		s.WaitingClass, s.WaitingClassProblem = settings.WaitingClass, problem
	}
	s.SaveAhead, s.Spare = p.aheadOf(s.Job), p.sparesOf(s.Job)
	if s.GiveWay, err = p.orderTo(ctx, s.Job); err != nil {
		return time.Time{}, err
	}
	if at := p.adviseBackfill(s); !at.IsZero() {
		return at, nil
	}
	if s.Job.Status.Phase != v1alpha1.PhaseQueued || len(s.Pods) > 0 {
		return time.Time{}, nil
	}
	ready, again := p.ready()
	if !ready {
		s.RoomReserved = true
		return again, nil
	}
	j := p.contender(s.Job, nil, s.Now)
	s.RoomReserved = p.reserves(&j)
	return time.Time{}, nil
}

// presumed returns when a gang is taken to have reported that has not yet since this process leads, but whose
// attempt did before: when the process began. Otherwise a plan would stop gangs without a request for a
// checkpoint.
func (p *Planner) presumed(job *v1alpha1.TrainingJob) time.Time {
	if pr := job.Status.Progress; !p.brokering || p.Reports == nil || pr == nil ||
		pr.Attempt != job.Status.Attempt {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts()
}

// AwaitsClass reports whether the reconcile of a job needs its priority class, which is not read yet.
func (p *Planner) AwaitsClass(job *v1alpha1.TrainingJob) bool {
	if p == nil || !p.brokering || job.Spec.RunPolicy.SchedulingPolicy.PriorityClass == "" ||
		p.State.ClassesListed() {
		return false
	}
	switch job.Status.Phase {
	case v1alpha1.PhaseRunning, v1alpha1.PhaseStarting, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed:
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Clock.Now().Before(p.starts().Add(startPatience))
}

// starts returns when the process first gathered a job. The caller holds the lock.
func (p *Planner) starts() time.Time {
	if p.brokers.began.IsZero() {
		p.brokers.began = p.Clock.Now()
	}
	return p.brokers.began
}

// ready reports whether the reservations are known, or the process has waited long enough for them; if not,
// it returns when to check again.
func (p *Planner) ready() (bool, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	if p.brokers.passed || !now.Before(p.starts().Add(startPatience)) {
		return true, time.Time{}
	}
	return false, now.Add(brokerPeriod)
}

// reserves reports whether a gang without pods must wait because capacity is reserved for another.
func (p *Planner) reserves(j *contention.Job) bool {
	p.mu.Lock()
	reserved := p.brokers.orders.Reserved
	p.mu.Unlock()
	if len(reserved) == 0 {
		return false
	}
	state := p.State.State()
	for i := range reserved {
		if reserved[i].Holds(j, state) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.brokers.held == nil {
				p.brokers.held = map[types.NamespacedName]bool{}
			}
			p.brokers.held[client.ObjectKeyFromObject(j.TrainingJob)] = true
			return true
		}
	}
	return false
}

// aheadOf returns the waiting gang for which a gang saves ahead; nil: none.
func (p *Planner) aheadOf(job *v1alpha1.TrainingJob) *observation.SaveAhead {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, ordered := p.brokers.orders.SaveAhead[preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}]
	switch {
	case !ordered:
		return nil
	case waiting.Namespace != job.Namespace:
		return &observation.SaveAhead{} // tenants do not learn what others run
	}
	return &observation.SaveAhead{Name: waiting.Name}
}

// sparesOf returns whether a gang is exempt from preemption; nil before the first pass.
func (p *Planner) sparesOf(job *v1alpha1.TrainingJob) *bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.brokers.passed {
		return nil
	}
	spare := p.brokers.orders.Spare[preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}]
	return &spare
}

// orderTo returns the order to yield for a job; nil: there is none. It reads the waiting job from the API
// server: no victim yields to a gang that has stopped waiting.
func (p *Planner) orderTo(ctx context.Context, job *v1alpha1.TrainingJob) (*observation.GiveWay, error) {
	switch job.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
	default:
		return nil, nil
	}
	victim := preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}
	p.mu.Lock()
	order, ordered := p.brokers.orders.GiveWay[victim]
	p.mu.Unlock()
	if !ordered {
		return nil, nil
	}
	waiting := &v1alpha1.TrainingJob{}
	if err := p.Live.Get(ctx, order.For, waiting); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	stands := contention.Stands(waiting, order.Waiting, victim)
	if order.Recalls {
		stands = contention.HasDue(waiting, order.Waiting)
	}
	if !stands {
		return nil, nil
	}
	way := &observation.GiveWay{
		Mode: order.Mode, Deadline: order.Deadline, LossGPUSeconds: order.LossGPUSeconds,
		Recalls: order.Recalls,
	}
	if order.For.Namespace == job.Namespace {
		way.Name, way.UID = order.For.Name, order.Waiting.UID
	}
	return way, nil
}

// classOf returns the settings of a job's priority class.
func (p *Planner) classOf(job *v1alpha1.TrainingJob) contention.Class {
	name := job.Spec.RunPolicy.SchedulingPolicy.PriorityClass
	if !p.brokering || name == "" {
		return p.defaults
	}
	class, _ := contention.ClassOf(name, p.State.Class, p.defaults)
	return class
}
