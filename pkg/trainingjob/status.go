package trainingjob

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// maxWorkers bounds status.workers: a job of 5,000 ranks must stay a small object.
const maxWorkers = 100

// refresh updates a status that makes no transition. Counts wait until they have stood for StatusDelay: most ride on a
// transition. What is not due yet asks for a wake-up instead.
func (p *pass) refresh() {
	st := &p.plan.Status
	old := p.job.Status
	p.count()
	st.RankRestarts, st.Restarts = p.rankRestarts(), p.restartsNow()
	if st.Phase == v1alpha1.PhaseRunning {
		st.Message = p.runningMessage()
	}
	if !p.settled() && !apiequality.Semantic.DeepEqual(*st, withGeneration(old, st.ObservedGeneration)) {
		generation := st.ObservedGeneration
		*st = *old.DeepCopy()
		st.ObservedGeneration = generation
		p.wakeAt(p.settlesAt(), true)
	}
	p.refreshBlocker()
}

func withGeneration(st v1alpha1.TrainingJobStatus, generation int64) v1alpha1.TrainingJobStatus {
	st.ObservedGeneration = generation
	return st
}

// count fills in everything that is counted over the ranks.
func (p *pass) count() {
	st := &p.plan.Status
	if p.job.Status.Phase.Finished() {
		return // how the ranks ended was counted when the job finished; pods may be taken away since
	}
	over := st.Phase.Finished() // what still runs is about to be deleted
	var readyRanks int32
	byRole := make(map[v1alpha1.Role]v1alpha1.ReplicaStatus, len(p.obs.roles))
	succeeded := map[v1alpha1.Role][]int32{}
	for i := range p.obs.ranks {
		r := &p.obs.ranks[i]
		rs := byRole[r.Role]
		switch r.state {
		case rankSucceeded:
			rs.Succeeded++
			succeeded[r.Role] = append(succeeded[r.Role], r.Index)
		case rankFailed:
			rs.Failed++
		case rankPending, rankBound, rankRunning, rankEnding:
			rs.Active += int32(btoi(!over))
		}
		if r.state == rankRunning && !over && ready(r.pod) {
			rs.Ready++
			readyRanks++
		}
		byRole[r.Role] = rs
	}
	for _, role := range p.obs.roles {
		rs := byRole[role.Name]
		rs.SucceededIndexes = formatRanges(succeeded[role.Name])
		byRole[role.Name] = rs
	}
	st.ReadyReplicas = readyRanks
	st.ReplicaStatuses = byRole
	if len(p.obs.ranks) > 0 {
		st.Gang = fmt.Sprintf("%d/%d", p.obs.up(), len(p.obs.ranks))
	}
	st.Workers = p.workers()
}

// workers lists the ranks that have a pod or lost it, the unhealthy first; ranks that were never created say nothing.
func (p *pass) workers() []v1alpha1.WorkerStatus {
	health := []rankState{rankFailed, rankMissing, rankEnding, rankPending, rankBound, rankRunning, rankSucceeded}
	if p.obs.present() == 0 {
		return nil
	}
	var list []v1alpha1.WorkerStatus
	for _, state := range health {
		for i := range p.obs.ranks {
			r := &p.obs.ranks[i]
			if r.state != state {
				continue
			}
			if len(list) == maxWorkers {
				return list
			}
			list = append(list, p.worker(r))
		}
	}
	return list
}

func (p *pass) worker(r *rank) v1alpha1.WorkerStatus {
	w := v1alpha1.WorkerStatus{Role: r.Role, Index: r.Index, PodName: PodName(p.job.Name, r.RankRef), Phase: "Missing"}
	switch {
	case r.pod != nil:
		w.Phase, w.Node, w.RestartCount = string(r.pod.Status.Phase), r.pod.Spec.NodeName, restartCount(r.pod)
		if r.state == rankEnding {
			w.Phase = "Terminating"
		} else if w.Phase == "" {
			w.Phase = string(corev1.PodPending)
		}
	case r.state == rankSucceeded:
		w.Phase = string(corev1.PodSucceeded)
	}
	return w
}

func (p *pass) runningMessage() string {
	running, done := p.obs.count(rankRunning), p.obs.count(rankSucceeded)
	msg := fmt.Sprintf("%d/%d ranks running", running, len(p.obs.ranks))
	if done > 0 {
		msg += fmt.Sprintf(", %d succeeded", done)
	}
	if out := Ranks(p.job) - int32(len(p.obs.ranks)); out > 0 {
		msg += fmt.Sprintf("; %d of %d were not admitted", out, Ranks(p.job))
	}
	return msg
}

// rankRestarts and restartsNow follow the kubelet's restart counts under scope Rank. A rank that was replaced counts from
// zero again: what it had spent stays spent.
func (p *pass) rankRestarts() int32 {
	if p.scope != v1alpha1.ScopeRank || len(p.Pods) == 0 {
		return p.job.Status.RankRestarts
	}
	return p.containerRestarts()
}

func (p *pass) restartsNow() int32 {
	return p.job.Status.Restarts + max(0, p.rankRestarts()-p.job.Status.RankRestarts)
}

// refreshBlocker keeps the one reason why the job waits. A blocker is the same while its reason is; its words are refreshed
// at most once a minute, so that a scheduler that rewords its complaint every second causes no writes.
func (p *pass) refreshBlocker() {
	st := &p.plan.Status
	if st.Phase.Finished() || st.Phase == v1alpha1.PhaseSuspended || st.Phase == v1alpha1.PhaseRestarting {
		return
	}
	old := p.currentBlocker()
	now, blocked := p.blocker()
	if old == nil && !blocked {
		return
	}
	due := p.settlesAt() // pods that come and go are mostly the end of the wait
	if old != nil && blocked && old.Reason == now.Reason {
		if old.Message == now.Message && old.NextStep == now.NextStep {
			return
		}
		if t := old.ObservedTime; t != nil {
			due = t.Add(blockerRefresh)
		}
	}
	if p.Now.Before(due) {
		p.wakeAt(due, true)
		return
	}
	if !blocked {
		if st.Phase != v1alpha1.PhaseQueued { // there the transition that ends the wait clears it, for nothing
			st.Scheduling.Blocker = nil
		}
		return
	}
	p.block(now)
	if st.Phase != v1alpha1.PhaseRunning {
		st.Message = "waiting: " + now.Message
	}
	p.setConditions()
	if old == nil || old.Reason != now.Reason {
		p.note("waits: %s: %s", now.Reason, now.Message)
	}
}

const blockerRefresh = time.Minute

func (p *pass) currentBlocker() *v1alpha1.Blocker {
	if s := p.plan.Status.Scheduling; s != nil {
		return s.Blocker
	}
	return nil
}

func (p *pass) block(b v1alpha1.Blocker) {
	if p.plan.Status.Scheduling == nil {
		p.plan.Status.Scheduling = &v1alpha1.SchedulingStatus{Queue: Queue(p.job)}
	}
	t := p.now()
	b.ObservedTime = &t
	p.plan.Status.Scheduling.Blocker = &b
}

// blocker is the one reason why the gang does not run: what stands in the operator's own way first, then what the
// scheduler says.
func (p *pass) blocker() (v1alpha1.Blocker, bool) {
	if b, hung := p.hangingPods(); hung {
		return b, true
	}
	switch p.job.Status.Phase {
	case v1alpha1.PhaseDraining:
		return v1alpha1.Blocker{}, false
	case v1alpha1.PhaseRunning, v1alpha1.PhaseStarting:
		if p.Obstacle != nil {
			return p.Obstacle.Blocker, true
		}
		return v1alpha1.Blocker{}, false
	}
	switch {
	case p.Backend == nil && p.SchedulerProblem != nil:
		return *p.SchedulerProblem, true
	case len(p.obs.stale) > 0:
		return v1alpha1.Blocker{
			Reason:  v1alpha1.ReasonTerminating,
			Message: "pods of the last attempt are still there, first " + firstName(p.obs.stale),
		}, true
	case p.Obstacle != nil:
		return p.Obstacle.Blocker, true
	case p.obs.placed() >= p.min, p.Verdict.Judged && p.Verdict.Admission == scheduler.Go && p.Verdict.Reason == "":
		return v1alpha1.Blocker{}, false // the scheduler has said yes
	case p.Verdict.Reason != "":
		return v1alpha1.Blocker{Reason: p.Verdict.Reason, Message: p.Verdict.Message, NextStep: p.Verdict.NextStep}, true
	}
	return v1alpha1.Blocker{
		Reason:  v1alpha1.ReasonWaitingInQueue,
		Message: fmt.Sprintf("not placed yet by %s: %s, minAvailable %d", p.where(), p.size(), p.min),
	}, true
}

// hangingPods finds pods whose deletion hangs on a node that does not answer. Waiting is the only safe thing: their
// containers may still run, and a second rank beside them would train against them.
func (p *pass) hangingPods() (v1alpha1.Blocker, bool) {
	var nodes []string
	for _, pod := range p.Pods {
		if p.onLostNode(pod) && !slices.Contains(nodes, pod.Spec.NodeName) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	if len(nodes) == 0 {
		return v1alpha1.Blocker{}, false
	}
	slices.Sort(nodes)
	list := strings.Join(nodes, ", ")
	return v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonNodeLost,
		Message:  "ranks cannot be ended: node " + list + " does not answer, they may still run there",
		NextStep: "when the machine is known to be off, delete the node or taint it node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
	}, true
}

func firstName(pods []*corev1.Pod) string {
	return slices.MinFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }).Name
}
