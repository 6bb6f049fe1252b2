package trainingjob

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
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
	// What ranks said of their checkpoints waits for nothing, and takes the rest along.
	news := p.learn()
	news = p.remember() || news
	news = p.progress(news) || news
	if st.Phase == v1alpha1.PhaseRunning {
		st.Message = p.runningMessage()
	}
	if !news && !p.settled() && !apiequality.Semantic.DeepEqual(*st, withGeneration(old, st.ObservedGeneration)) {
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
	return msg + p.trained()
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
