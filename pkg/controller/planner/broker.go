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
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	// brokerPeriod is the shortest time between two passes of a planner whose plans are carried out: a plan that
	// is written down waits for the next one.
	brokerPeriod = time.Second
	// startPatience is how long a process that has just begun holds gangs back that it may have to hold, or
	// whose classes it does not know, because it has not made its first pass.
	startPatience = 30 * time.Second
)

// brokers is what a planner keeps whose plans are carried out. The planner's mutex guards it.
type brokers struct {
	orders contention.Orders
	// passed is set once the orders are those of a pass.
	passed bool
	// began is when the process was first asked about a job.
	began time.Time
	// blocked is since when gangs have lacked room whose status does not say so yet.
	blocked map[preemption.Ref]time.Time
	// held are the jobs that were told that room is reserved: they are woken when that may be over.
	held map[types.NamespacedName]bool
}

// broker makes a pass of a planner whose plans are carried out: what statuses hold is carried on. It returns
// the jobs that have something to do at once.
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
		if said := orders.Statuses[ref]; said != nil {
			if at := said.BlockedTime; at != nil {
				blocked[ref] = at.Time
			}
			wake[name] = planChanged(j.Status.Scheduling.Preemption, said)
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

// joinContest describes a gang's part in the contest for quotas, where its scheduler decides by these: of one
// that holds some, or waits behind a gate.
func (p *Planner) joinContest(c *contention.Job) {
	quotas := scheduler.Of(c.Backend).QuotaSystem
	if quotas == nil || !p.brokering ||
		!contention.HoldsNodes(c.TrainingJob) && !contention.AwaitsBroker(c.TrainingJob) {
		return
	}
	objects := memory.ObjectsOf(c.Backend, p.Owned.Objects(c.UID))
	contest, known := quotas.Contest(objects, c.Requests, p.State.State())
	if known {
		c.Contest, c.Value = &contest, contest.Value
	}
}

// planChanged reports whether a job has something to write at once: of a plan, whatever differs.
func planChanged(written, said *v1alpha1.PreemptionStatus) bool {
	if written == nil {
		return true
	}
	return written.Phase != said.Phase || written.Round != said.Round ||
		written.VictimCount != said.VictimCount || outcomeChanged(written, said)
}

// over reports whether some room is no longer reserved that was.
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

// blockedSince is since when a gang has lacked room: by its status, else by the last pass, else since now.
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
		s.Spare = new(bool) // a gang that a former process exempted is not exempt any more
		return time.Time{}, nil
	}
	s.Brokers = true
	if class := s.Job.Spec.RunPolicy.SchedulingPolicy.PriorityClass; class != "" {
		said, problem := contention.ClassOf(class, p.State.Class, p.defaults)
		s.WaitingClass, s.WaitingClassProblem = said.WaitingClass, problem
	}
	s.SaveAhead, s.Spare = p.aheadOf(s.Job), p.sparesOf(s.Job)
	if s.GiveWay, err = p.orderTo(ctx, s.Job); err != nil {
		return time.Time{}, err
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

// presumed is when a gang is taken to have reported that has not yet since this process leads, though its
// attempt did before: as the process began. Otherwise whoever is planned for in these moments would have
// gangs ended that were never asked.
func (p *Planner) presumed(job *v1alpha1.TrainingJob) time.Time {
	if pr := job.Status.Progress; !p.brokering || p.Reports == nil || pr == nil ||
		pr.Attempt != job.Status.Attempt {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts()
}

// AwaitsClass reports whether a job's class must be known for what is decided now, and is not yet.
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

// starts is when the process was first asked. The caller holds the lock.
func (p *Planner) starts() time.Time {
	if p.brokers.began.IsZero() {
		p.brokers.began = p.Clock.Now()
	}
	return p.brokers.began
}

// ready reports whether it is known whose room is reserved, or that has been waited for long enough; else
// when to ask again.
func (p *Planner) ready() (bool, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	if p.brokers.passed || !now.Before(p.starts().Add(startPatience)) {
		return true, time.Time{}
	}
	return false, now.Add(brokerPeriod)
}

// reserves reports whether a gang that has no pods must not begin.
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

// aheadOf returns for whom a gang is to save ahead, if it is; nil: for nobody.
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

// sparesOf says whether a gang is to be spared; nil before the first pass.
func (p *Planner) sparesOf(job *v1alpha1.TrainingJob) *bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.brokers.passed {
		return nil
	}
	spare := p.brokers.orders.Spare[preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}]
	return &spare
}

// orderTo give way, if there is one for a job. It asks the API server whether the plan still stands: nobody
// is asked for a gang that waits no longer.
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
	if !contention.Stands(waiting, order.Waiting, victim) {
		return nil, nil
	}
	way := &observation.GiveWay{
		Mode: order.Mode, Deadline: order.Deadline, LossGPUSeconds: order.LossGPUSeconds,
	}
	if order.For.Namespace == job.Namespace {
		way.Name, way.UID = order.For.Name, order.Waiting.UID
	}
	return way, nil
}

// classOf a job, as the planner takes it.
func (p *Planner) classOf(job *v1alpha1.TrainingJob) contention.Class {
	name := job.Spec.RunPolicy.SchedulingPolicy.PriorityClass
	if !p.brokering || name == "" {
		return p.defaults
	}
	class, _ := contention.ClassOf(name, p.State.Class, p.defaults)
	return class
}
