package queues

import (
	"cmp"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// member of a queue: a job, and the queue that it names.
type member struct {
	job       Job
	scheduler v1alpha1.SchedulerName
	queue     string
	waits     bool
}

// members are the jobs that hold or want a part of a queue, in the order in which the queue serves them.
// Ended, suspended and deleted jobs are excluded.
type members []member

func newMembers(objects Objects, jobs []v1alpha1.TrainingJob) members {
	classes := classesOf(objects)
	var all members
	for i := range jobs {
		j := &jobs[i]
		waits, holds := standing(j)
		if !waits && !holds {
			continue
		}
		p := member{waits: waits, queue: spec.Queue(j), scheduler: j.Spec.RunPolicy.SchedulingPolicy.Scheduler}
		p.job = Job{
			Namespace: j.Namespace, Name: j.Name, Phase: j.Status.Phase, GPUs: j.Status.GPUs,
			GPUsUnknown:   j.Status.GPUsUnknown != "" || j.Status.Phase == "",
			PriorityClass: spec.PriorityClass(j), Created: j.CreationTimestamp.UTC(),
		}
		if s := j.Status.Scheduling; s != nil {
			p.scheduler, p.queue = cmp.Or(s.Scheduler, p.scheduler), cmp.Or(s.Queue, p.queue)
			if s.Blocker != nil && waits {
				p.job.Reason = s.Blocker.Reason
			}
			if b := s.Backfill; b != nil {
				p.job.Backfill = b.How
			}
			if r := s.Reservation; r != nil && waits {
				p.job.Reservation = r.Phase
			}
			if e := s.EstimatedStart; e != nil && waits {
				p.job.StartUnknown = e.Unknown
				if e.Time != nil {
					p.job.Start = new(e.Time.UTC())
				}
				if e.Earliest != nil && e.Latest != nil {
					p.job.StartEarliest, p.job.StartLatest = new(e.Earliest.UTC()), new(e.Latest.UTC())
				}
			}
		}
		p.queue = cmp.Or(p.queue, schedulers.DefaultQueue(p.scheduler))
		if kueueClass := j.Labels[v1alpha1.LabelKueuePriority]; p.scheduler == v1alpha1.SchedulerKueue &&
			kueueClass != "" {
			p.job.PriorityClass = kueueClass
			p.job.Priority = classes.workloads[kueueClass]
		} else {
			p.job.Priority = classes.of(p.job.PriorityClass)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b member) int { return compare(a.job, b.job) })
	return all
}

// Waits reports whether a job waits for a part of its queue: it holds none, and is neither ended nor
// suspended.
func Waits(j *v1alpha1.TrainingJob) bool {
	waits, _ := standing(j)
	return waits
}

// standing reports whether a job waits for a part of its queue, or holds one.
func standing(j *v1alpha1.TrainingJob) (waits, holds bool) {
	if !j.DeletionTimestamp.IsZero() {
		return false, false
	}
	switch j.Status.Phase {
	case "", v1alpha1.PhasePending, v1alpha1.PhaseQueued:
		return !spec.Suspended(j), false
	case v1alpha1.PhaseRestarting:
		keeps := j.Status.Scheduling != nil && j.Status.Scheduling.KeepsPlace
		return !keeps, keeps
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining:
		return false, true
	}
	return false, false
}

// compare sorts jobs in the order in which a queue serves them.
func compare(a, b Job) int {
	value := func(j Job) int64 {
		if j.Priority == nil {
			return -1 << 40
		}
		return int64(*j.Priority)
	}
	return cmp.Or(
		cmp.Compare(value(b), value(a)), a.Created.Compare(b.Created),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// put adds to a queue the jobs that are in it.
func (all members) put(q *Queue, is func(member) bool) {
	for _, p := range all {
		switch {
		case !is(p):
		case p.waits:
			q.Waiting = append(q.Waiting, p.job)
			q.WaitingGPUs += p.job.GPUs
		default:
			q.Running = append(q.Running, p.job)
			q.RunningGPUs += p.job.GPUs
		}
	}
}

// classes by name, with their values.
type classes struct {
	pods, workloads map[string]*int32
	// byDefault is the value of a job that names no class.
	byDefault int32
}

func classesOf(objects Objects) classes {
	c := classes{pods: map[string]*int32{}, workloads: map[string]*int32{}}
	for i := range objects.PriorityClasses {
		pc := &objects.PriorityClasses[i]
		c.pods[pc.Name] = &pc.Value
		if pc.GlobalDefault {
			c.byDefault = pc.Value
		}
	}
	for i := range objects.WorkloadPriorityClasses {
		pc := &objects.WorkloadPriorityClasses[i]
		c.workloads[pc.Name] = &pc.Value
	}
	return c
}

func (c classes) of(name string) *int32 {
	if name == "" {
		return &c.byDefault
	}
	return c.pods[name]
}
