package contention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// contest is a cluster in memory whose scheduler preempts within the quota of one queue: the lowest value
// first, then the youngest, and none for a gang whose gate is closed. Only statuses and groups keep state
// between passes.
type contest struct {
	t     testing.TB
	log   strings.Builder
	now   time.Time
	quota int64
	jobs  []*Job
	// saves is how long a victim takes to end.
	saves time.Duration
	ends  map[string]time.Time
	// blind: the scheduler ignores gates; deaf: it ignores marks; refuses: it never preempts.
	blind, deaf, refuses bool
	// loses reports whether the process dies before a write.
	loses     func() bool
	statuses  map[preemption.Ref]*v1alpha1.PreemptionStatus
	overruled int
}

func contend(t testing.TB, quota int64, jobs ...Job) *contest {
	c := &contest{
		t: t, now: now, quota: quota, saves: 20 * time.Second, ends: map[string]time.Time{},
		loses: func() bool { return false },
	}
	for i := range jobs {
		c.jobs = append(c.jobs, &jobs[i])
	}
	return c
}

const contested = "team-a"

// admitted gives the gang quota since the given time.
func admitted(since time.Duration) func(*Job) {
	return func(j *Job) {
		runs(since, "a")(j)
		of(v1alpha1.SchedulerKueue)(j)
		j.Contest = &scheduler.Contest{
			Queue: contested, Value: j.Value, Reserved: ago(since),
			Holds: map[string]scheduler.Amounts{"h100": {gpu: j.Status.GPUs}},
		}
	}
}

// behindGate has the gang wait for quota.
func behindGate(j *Job) {
	waits(0, v1alpha1.ReasonQuotaExceeded)(j)
	of(v1alpha1.SchedulerKueue)(j)
	j.Status.Scheduling.PreemptionGate = true
	j.Class = Class{WaitingClass: "waits", MaxDelay: 2 * time.Minute}
	j.Contest = &scheduler.Contest{
		Queue: contested, Value: j.Value, Gate: scheduler.GateClosed, GateSince: ago(0),
		Needs: []scheduler.QuotaNeed{{Requests: scheduler.Amounts{gpu: j.Status.GPUs}, Flavors: []string{"h100"}}},
	}
}

func (c *contest) logf(format string, args ...any) {
	fmt.Fprintf(&c.log, "%4.0f s  %s\n", c.now.Sub(now).Seconds(), fmt.Sprintf(format, args...))
}

func (c *contest) free() int64 {
	free := c.quota
	for _, j := range c.jobs {
		free -= j.Contest.Holds["h100"][gpu]
	}
	return free
}

// tick is a second: a pass, the reconciles of all jobs, and the scheduler.
func (c *contest) tick() {
	c.t.Helper()
	c.pass()
	c.schedule()
	c.now = c.now.Add(time.Second)
	for name, at := range c.ends {
		if c.now.Before(at) {
			continue
		}
		delete(c.ends, name)
		j := c.job(name)
		j.Status.Attempt++
		j.enterAt(v1alpha1.PhaseQueued, c.now)
		j.Contest.Holds, j.Contest.Reserved, j.Contest.Preempted = nil, metav1.Time{}, false
		c.logf("%s has ended", name)
	}
}

func (c *contest) job(name string) *Job {
	return c.jobs[slices.IndexFunc(c.jobs, func(j *Job) bool { return j.Name == name })]
}

func (c *contest) pass() {
	c.t.Helper()
	cluster := Cluster{Now: c.now, State: scheduler.ClusterState{Complete: true}}
	for _, j := range c.jobs {
		if spec.HoldsNodes(j.TrainingJob) {
			j.Reported = c.now
		}
		j.Contest.Free = map[string]scheduler.Amounts{"h100": {gpu: max(0, c.free())}}
		j.Proposed = c.statuses[j.ref()]
		cluster.Jobs = append(cluster.Jobs, *j)
	}
	orders := Broker(brokerPolicy, cluster)
	if c.statuses = orders.Statuses; c.loses() {
		c.statuses = nil
	}
	c.overruled = max(c.overruled, len(orders.Overruled))
	if len(orders.GiveWay)+len(orders.SaveAhead)+len(orders.Reserved) > 0 {
		c.t.Fatalf("a gang has an order, or capacity is reserved: %+v", orders)
	}
	for _, j := range c.jobs {
		c.reconcile(j, orders)
	}
}

// reconcile a job: write its status, its mark and its gate.
func (c *contest) reconcile(j *Job, orders Orders) {
	if c.loses() {
		return
	}
	if spare := orders.Spare[j.ref()]; spare != j.Contest.Spared {
		if j.Contest.Spared = spare; spare {
			c.logf("%s is spared", j.Name)
		} else {
			c.logf("%s is spared no longer", j.Name)
		}
	}
	was := j.Status.Scheduling.Preemption
	if st := orders.Statuses[j.ref()]; st != nil && !sameStep(was, st) {
		j.Status.Scheduling.Preemption = st
		var victims []string
		for _, v := range st.Victims {
			victims = append(victims, fmt.Sprintf("%s %d", v.UID, v.EstimatedLossSeconds))
		}
		c.logf("%s: %s %s: %s", j.Name, st.Outcome, st.Phase, strings.Join(victims, ", "))
		return // the next reconcile acts on it
	}
	if was == nil || j.Status.Phase != v1alpha1.PhaseQueued || c.blind {
		return
	}
	switch was.Phase {
	case v1alpha1.PreemptionReleasing, v1alpha1.PreemptionPlacing, v1alpha1.PreemptionHandedOver:
		j.Contest.Gate = scheduler.GateOpen
	}
}

func sameStep(a, b *v1alpha1.PreemptionStatus) bool {
	return a != nil && a.Outcome == b.Outcome && a.Phase == b.Phase && a.VictimCount == b.VictimCount
}

// schedule as Kueue does.
func (c *contest) schedule() {
	waiting := slices.DeleteFunc(slices.Clone(c.jobs), func(j *Job) bool {
		return j.Status.Phase != v1alpha1.PhaseQueued
	})
	slices.SortStableFunc(waiting, func(a, b *Job) int { return cmp.Compare(b.Value, a.Value) })
	for _, j := range waiting {
		switch {
		case j.Status.GPUs <= c.free():
			c.admit(j)
		case c.refuses || j.Contest.Gate == "":
		case j.Contest.Gate != scheduler.GateOpen && !c.blind:
			if j.Contest.Gate == scheduler.GateClosed {
				j.Contest.Gate, j.Contest.GateSince = scheduler.GateBlocks, metav1.NewTime(c.now)
				c.logf("the scheduler would preempt for %s", j.Name)
			}
		default:
			if c.blind {
				j.Contest.Gate, j.Contest.GateSince = scheduler.GateIgnored, ago(0)
			}
			c.preempt(j)
		}
		if j.Status.Phase == v1alpha1.PhaseQueued && len(c.ends) > 0 {
			return // the capacity is for the first one
		}
	}
}

func (c *contest) admit(j *Job) {
	j.enterAt(v1alpha1.PhaseRunning, c.now)
	j.Contest.Reserved = metav1.NewTime(c.now)
	j.Contest.Holds = map[string]scheduler.Amounts{"h100": {gpu: j.Status.GPUs}}
	j.Status.Scheduling.Preemption = nil
	c.logf("%s runs", j.Name)
}

func (c *contest) preempt(j *Job) {
	free := c.free()
	for _, v := range c.jobs {
		if _, ends := c.ends[v.Name]; ends {
			free += v.Status.GPUs
		}
	}
	for _, v := range c.order() {
		if free >= j.Status.GPUs || c.value(v) >= j.Value {
			return
		}
		free += v.Status.GPUs
		v.Contest.Preempted, c.ends[v.Name] = true, c.now.Add(c.saves)
		v.enterAt(v1alpha1.PhaseDraining, c.now)
		v.Contest.Spared = false
		c.logf("%s is preempted for %s", v.Name, j.Name)
	}
}

func (c *contest) value(j *Job) int32 {
	if j.Contest.Spared && !c.deaf {
		return j.Value + 1
	}
	return j.Value
}

func (c *contest) order() []*Job {
	var running []*Job
	for _, j := range c.jobs {
		if !j.Contest.Reserved.IsZero() && !j.Contest.Preempted {
			running = append(running, j)
		}
	}
	slices.SortStableFunc(running, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(c.value(a), c.value(b)), b.Contest.Reserved.Compare(a.Contest.Reserved.Time))
	})
	return running
}

func (c *contest) run(seconds int) *contest {
	c.t.Helper()
	for range seconds {
		c.tick()
	}
	return c
}

// savedAgo is a gang's last save.
func savedAgo(d time.Duration) func(*Job) {
	return func(j *Job) {
		saved(d)(j)
		at := metav1.NewTime(now.Add(-d))
		j.Status.Checkpoint.Latest.Time = &at
	}
}
