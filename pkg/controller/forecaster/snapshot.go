package forecaster

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/contention"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// description of the cluster for one pass.
type description struct {
	now   time.Time
	state scheduler.ClusterState
	// unknown is why no start is known in this cluster; empty: some are.
	unknown  forecast.Unknown
	snapshot forecast.Snapshot
	// jobs of the snapshot's gangs, in the same order.
	jobs    []*v1alpha1.TrainingJob
	history history
	steps   Steps
	// yields are the victims of plans that the operator carries out, with when they end at the latest.
	yields map[types.UID]time.Time

	// resources, nodes, sets and queues by the indices in the snapshot.
	resources map[corev1.ResourceName]int
	nodes     map[string]int32
	sets      map[string]int
	queues    map[queueKey]*queue
	quotas    map[string]int
	lanes     map[string]int
}

// queueKey is a queue that jobs name.
type queueKey struct{ scheduler, namespace, queue string }

// queue is a queue with its limits, of which known is false if the operator does not know them.
type queue struct {
	lane int
	// name of the lane.
	name   string
	limits []scheduler.QueueLimit
	known  bool
}

// candidate is a waiting job in the order of service.
type candidate struct {
	job     *v1alpha1.TrainingJob
	backend scheduler.Backend
	pods    []*corev1.Pod
	queue   *queue
	value   int32
	demands []scheduler.Demand
	// devices: its ranks request devices, which no play counts.
	devices bool
}

// describe the cluster. It leaves out a job whose description panics.
func (f *Forecaster) describe(
	ctx context.Context, list *v1alpha1.TrainingJobList, state scheduler.ClusterState, now time.Time,
) *description {
	d := &description{
		now: now, state: state, snapshot: forecast.Snapshot{Now: now}, history: historyOf(list.Items),
		steps: f.Steps, yields: yieldsOf(list.Items), resources: map[corev1.ResourceName]int{},
		nodes: map[string]int32{}, sets: map[string]int{}, queues: map[queueKey]*queue{},
		quotas: map[string]int{}, lanes: map[string]int{},
	}
	switch {
	case state.Partial:
		d.unknown = forecast.NotComplete
	case !f.Autoscaler.IsAbsent():
		d.unknown = forecast.SchedulerDecides // waiting pods may bring nodes
	}
	var waiting []candidate
	var running []*v1alpha1.TrainingJob
	for i := range list.Items {
		job := &list.Items[i]
		f.guard(ctx, job, func() {
			switch {
			case spec.HoldsNodes(job):
				running = append(running, job)
			case waits(job):
				waiting = append(waiting, f.candidate(d, job))
			}
		})
	}
	slices.SortFunc(waiting, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.value, a.value), a.job.CreationTimestamp.Compare(b.job.CreationTimestamp.Time),
			cmp.Compare(a.job.Namespace, b.job.Namespace), cmp.Compare(a.job.Name, b.job.Name))
	})
	for i := range waiting[:min(len(waiting), played*f.options.Considered)] {
		c := &waiting[i]
		f.guard(ctx, c.job, func() { c.demands = f.demandsOf(d, c) })
	}
	d.nameResources(waiting)
	d.describeNodes()
	for _, job := range running {
		f.guard(ctx, job, func() { f.addRunning(d, job) })
	}
	for i := range waiting {
		f.guard(ctx, waiting[i].job, func() { d.addWaiting(&waiting[i], i >= played*f.options.Considered) })
	}
	f.calibrate(d, list.Items)
	return d
}

// guard reports a panic of a step for one job, and continues.
func (f *Forecaster) guard(ctx context.Context, job *v1alpha1.TrainingJob, step func()) {
	if caught := panics.Catch(step); caught != nil {
		f.ReportPanic(ctx, job, meter.ActivityForecast, caught)
	}
}

// waits reports whether a job takes part in the contest for capacity. One that restarts is about to.
func waits(job *v1alpha1.TrainingJob) bool {
	switch job.Status.Phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhaseRestarting:
		return job.DeletionTimestamp == nil && !spec.Suspended(job) && !spec.ManagedElsewhere(job)
	}
	return false
}

// yieldsOf returns the victims of the plans in the statuses.
func yieldsOf(jobs []v1alpha1.TrainingJob) map[types.UID]time.Time {
	yields := map[types.UID]time.Time{}
	for i := range jobs {
		s := jobs[i].Status.Scheduling
		if s == nil || s.Preemption == nil || !contention.Outstanding(s.Preemption.Phase) ||
			s.Preemption.Deadline == nil {
			continue
		}
		for _, v := range s.Preemption.Victims {
			yields[v.UID] = s.Preemption.Deadline.Time
		}
	}
	return yields
}

func (f *Forecaster) candidate(d *description, job *v1alpha1.TrainingJob) candidate {
	waiter := f.State.Waiter(client.ObjectKeyFromObject(job), backends.JobOf(job))
	c := candidate{job: job, value: waiter.Priority, backend: f.backend(waiter.Scheduler)}
	c.queue = d.queueOf(c.backend, queueKey{waiter.Scheduler, job.Namespace, waiter.Queue})
	if quotas := scheduler.Of(c.backend).QuotaSystem; quotas != nil {
		objects := memory.ObjectsOf(c.backend, f.Owned.Objects(job.UID))
		if contest, known := quotas.Contest(objects, nil, d.state); known {
			c.value = contest.Value
		}
	}
	return c
}

// backend of a name; nil: there is none.
func (f *Forecaster) backend(name string) scheduler.Backend {
	for _, b := range f.Backends {
		if b.Name() == name {
			return b
		}
	}
	return nil
}

// queueOf returns the queue that a job names. Without limits, each name is a lane of its own.
func (d *description) queueOf(backend scheduler.Backend, key queueKey) *queue {
	if q := d.queues[key]; q != nil {
		return q
	}
	q := &queue{known: true}
	lane, strict := key.scheduler+"/"+key.queue, false
	if limiter := scheduler.Of(backend).Limiter; limiter != nil {
		q.limits, q.known = limiter.QueueLimits(
			scheduler.Gang{Namespace: key.namespace, Queue: key.queue}, d.state)
		if len(q.limits) > 0 {
			lane, strict = q.limits[0].Key, q.limits[0].Strict
		}
	}
	index, known := d.lanes[lane]
	if !known {
		index = len(d.snapshot.Lanes)
		d.lanes[lane] = index
		d.snapshot.Lanes = append(d.snapshot.Lanes, forecast.Lane{Scheduler: key.scheduler, Strict: strict})
	}
	q.lane, q.name = index, lane
	d.queues[key] = q
	return q
}

// demandsOf returns what a waiting gang still needs.
func (f *Forecaster) demandsOf(d *description, c *candidate) []scheduler.Demand {
	c.pods = f.podsOf(c.job.UID)
	gang := render.Gang(c.job, c.job.Status.Attempt, len(c.pods) > 0)
	c.devices = requestsDevices(gang, d.state)
	state := d.state
	state.Bound = map[string]int32{}
	for _, pod := range c.pods {
		if role, ok := gang.RoleOf(pod); ok && pod.Spec.NodeName != "" && !observation.Ended(pod) {
			state.Bound[role.Name]++
		}
	}
	return state.Demands(gang)
}

// requestsDevices reports whether ranks claim devices, or request resources that a DeviceClass serves.
func requestsDevices(gang scheduler.Gang, state scheduler.ClusterState) bool {
	for _, role := range gang.Roles {
		if role.Template == nil {
			continue
		}
		if len(role.Template.Spec.ResourceClaims) > 0 {
			return true
		}
		for name := range role.Requests() {
			if state.DeviceClasses[name] != "" {
				return true
			}
		}
	}
	return false
}

// nameResources numbers the resources that waiting gangs request: those that gangs mostly wait for first, at
// most forecast.MaxResources.
func (d *description) nameResources(waiting []candidate) {
	requested := scheduler.Amounts{}
	for i := range waiting {
		for _, demand := range waiting[i].demands {
			maps.Copy(requested, demand.Requests)
		}
	}
	for _, name := range scheduler.ByImportance(requested) {
		if len(d.resources) < forecast.MaxResources {
			d.resources[name] = len(d.resources)
		}
	}
}

// amounts of the numbered resources.
func (d *description) amounts(of scheduler.Amounts) (a forecast.Amounts) {
	for name, i := range d.resources {
		a[i] = of[name]
	}
	return a
}

func (d *description) describeNodes() {
	for _, n := range d.state.Nodes {
		d.nodes[n.Name] = int32(len(d.snapshot.Nodes))
		var free forecast.Amounts
		for name, i := range d.resources {
			free[i] = n.Free(name)
		}
		d.snapshot.Nodes = append(d.snapshot.Nodes, free)
	}
}

// addRunning adds a gang that holds nodes.
func (f *Forecaster) addRunning(d *description, job *v1alpha1.TrainingJob) {
	g := forecast.Gang{
		Namespace: job.Namespace, Name: job.Name, GPUs: job.Status.GPUs, Running: true, Length: d.lengthOf(job),
	}
	requests := contention.RequestsOf(job)
	var all forecast.Amounts
	holds := map[int32]*forecast.Amounts{}
	for _, pod := range f.podsOf(job.UID) {
		node, known := d.nodes[pod.Spec.NodeName]
		if !known || observation.Ended(pod) {
			continue
		}
		if holds[node] == nil {
			holds[node] = &forecast.Amounts{}
		}
		for i, n := range d.amounts(requests[pod.Labels[scheduler.LabelRole]]) {
			holds[node][i] += n
			all[i] += n
		}
	}
	for _, node := range slices.Sorted(maps.Keys(holds)) {
		g.Holds = append(g.Holds, forecast.Hold{Node: node, Amounts: *holds[node]})
	}
	waiter := backends.JobOf(job)
	q := d.queueOf(f.backend(waiter.Scheduler), queueKey{waiter.Scheduler, job.Namespace, waiter.Queue})
	g.Lane, g.Uses = q.lane, d.uses(q, all)
	d.jobs, d.snapshot.Gangs = append(d.jobs, job), append(d.snapshot.Gangs, g)
}

// uses of the quotas of a queue.
func (d *description) uses(q *queue, amounts forecast.Amounts) []forecast.Use {
	var uses []forecast.Use
	for i := range q.limits {
		l := &q.limits[i]
		index, known := d.quotas[l.Key]
		if !known {
			index = len(d.snapshot.Quotas)
			d.quotas[l.Key] = index
			quota := forecast.Quota{Name: l.Name, Free: d.amounts(l.Free)}
			for name, r := range d.resources {
				_, quota.Limited[r] = l.Limit[name]
			}
			d.snapshot.Quotas = append(d.snapshot.Quotas, quota)
		}
		uses = append(uses, forecast.Use{Quota: index, Amounts: amounts})
	}
	return uses
}

// addWaiting adds a waiting gang. A late one is too far behind to be played.
func (d *description) addWaiting(c *candidate, late bool) {
	g := forecast.Gang{
		Namespace: c.job.Namespace, Name: c.job.Name, GPUs: c.job.Status.GPUs, Length: d.lengthOf(c.job),
		Lane: c.queue.lane, Value: c.value, Since: c.job.CreationTimestamp.Time,
	}
	if late {
		g.Unknown = forecast.TooFarAhead
	} else {
		var all forecast.Amounts
		for _, demand := range c.demands {
			need := forecast.Need{
				Ranks: demand.Ranks, Requests: d.amounts(demand.Requests), Set: d.setOf(demand.Nodes),
			}
			g.Needs = append(g.Needs, need)
			for i, n := range need.Requests {
				all[i] += n * need.Ranks
			}
		}
		g.Uses = d.uses(c.queue, all)
		// A scheduler with quotas of its own admits a gang before it has pods.
		g.Admitted = scheduler.Of(c.backend).QuotaSystem != nil && len(c.pods) > 0
		g.Unknown = cmp.Or(d.unknown, c.unknown(&g, d.snapshot.Quotas))
	}
	d.jobs, d.snapshot.Gangs = append(d.jobs, c.job), append(d.snapshot.Gangs, g)
}

// setOf returns the index of a set of nodes.
func (d *description) setOf(nodes []scheduler.Node) int {
	set := make([]int32, 0, len(nodes))
	key := make([]byte, 0, 4*len(nodes))
	for i := range nodes {
		if node, known := d.nodes[nodes[i].Name]; known {
			set = append(set, node)
		}
	}
	slices.Sort(set)
	for _, node := range set {
		key = binary.LittleEndian.AppendUint32(key, uint32(node))
	}
	index, known := d.sets[string(key)]
	if !known {
		index = len(d.snapshot.Sets)
		d.sets[string(key)] = index
		d.snapshot.Sets = append(d.snapshot.Sets, set)
	}
	return index
}

// resourceQuotas is the prefix of a blocker's object that is a ResourceQuota, which no play has.
const resourceQuotas = "resourcequotas/"

// unknown returns why the start of a gang cannot be computed; empty: it can.
func (c *candidate) unknown(g *forecast.Gang, quotas []forecast.Quota) forecast.Unknown {
	if c.backend == nil || !c.queue.known {
		return forecast.QueueUnknown
	}
	if spec.Within(c.job) != "" || c.devices {
		return forecast.SchedulerDecides
	}
	if b := blockerOf(c.job); b != nil {
		switch b.Reason {
		case v1alpha1.ReasonQuotaExceeded:
			if strings.HasPrefix(b.Object, resourceQuotas) || len(c.queue.limits) == 0 {
				return forecast.QueueUnknown
			}
		case v1alpha1.ReasonQueueNotFound, v1alpha1.ReasonQueueClosed, v1alpha1.ReasonExceedsQuota,
			v1alpha1.ReasonPriorityClassNotFound:
			return forecast.QueueUnknown
		case v1alpha1.ReasonAdmissionCheckPending, v1alpha1.ReasonSchedulingGated, v1alpha1.ReasonVolumeUnbound,
			v1alpha1.ReasonImagePullFailed, v1alpha1.ReasonPodRejected, v1alpha1.ReasonGroupRejected,
			v1alpha1.ReasonNameTaken, v1alpha1.ReasonWaitingClassUnusable:
			return forecast.SchedulerDecides
		}
	}
	for i := range c.queue.limits {
		if l := &c.queue.limits[i]; l.Reclaims || l.Lends && !g.Admitted && exceeds(&g.Uses[i], quotas) {
			return forecast.SchedulerDecides
		}
	}
	return ""
}

// exceeds reports whether a use needs more than its quota has free.
func exceeds(u *forecast.Use, quotas []forecast.Quota) bool {
	q := &quotas[u.Quota]
	for r, n := range u.Amounts {
		if q.Limited[r] && n > q.Free[r] {
			return true
		}
	}
	return false
}

func blockerOf(job *v1alpha1.TrainingJob) *v1alpha1.Blocker {
	if job.Status.Scheduling == nil {
		return nil
	}
	return job.Status.Scheduling.Blocker
}

func (f *Forecaster) podsOf(job types.UID) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range f.Owned.Objects(job) {
		if pod, ok := o.Pod(); ok && !render.IsResolver(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}
