package demo

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// historyBuilder builds histories: each change of an object is a record with the next revision, 0.1 s later.
type historyBuilder struct {
	history  History
	state    *ClusterState
	revision uint64
	time     time.Time
}

func newHistoryBuilder() *historyBuilder {
	return &historyBuilder{state: NewClusterState(), time: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
}

func (t *historyBuilder) add(r Record) {
	t.revision++
	t.time = t.time.Add(100 * time.Millisecond)
	r.Revision, r.Time = t.revision, t.time
	t.history.Records = append(t.history.Records, r)
	t.state.Apply(r)
}

func (t *historyBuilder) nodes(count int, gpus int64) {
	for i := range count {
		t.add(Record{Node: &NodeState{Name: fmt.Sprintf("node-%d", i), GPUs: gpus}})
	}
}

// job changes a job, or creates it.
func (t *historyBuilder) job(name string, change func(*JobState)) {
	j, ok := t.state.Jobs[name]
	if !ok {
		j = JobState{Name: name, Ranks: 6, GPUs: 24, Gang: "0/6", Attempt: 1, Queue: "research",
			Phase: v1alpha1.PhaseQueued}
	}
	change(&j)
	t.add(Record{Job: &j})
}

func (t *historyBuilder) phase(name string, phase v1alpha1.Phase) {
	t.job(name, func(j *JobState) {
		j.Phase, j.Reason, j.Message, j.Gang = phase, "", "", "6/6"
	})
}

// pod changes a rank of an attempt, or creates it.
func (t *historyBuilder) pod(job string, attempt int32, rank int, change func(*PodState)) {
	uid := fmt.Sprintf("%s-%d-%d", job, attempt, rank)
	p, ok := t.state.Pods[uid]
	if !ok {
		p = PodState{UID: uid, Name: fmt.Sprintf("%s-worker-%d", job, rank), Job: job, Attempt: attempt, GPUs: 4,
			Phase: corev1.PodPending}
	}
	change(&p)
	t.add(Record{Pod: &p})
}

// each changes ranks from to below to.
func (t *historyBuilder) each(job string, attempt int32, from, to int, changes ...func(*PodState)) {
	for _, change := range changes {
		for rank := from; rank < to; rank++ {
			t.pod(job, attempt, rank, change)
		}
	}
}

// bind binds a rank to the first node with free GPUs.
func (t *historyBuilder) bind(p *PodState) {
	for _, name := range t.state.NodeNames() {
		held := t.state.GPUsInUse(func(o PodState) bool { return o.Node == name })
		if held+p.GPUs <= t.state.Nodes[name].GPUs {
			p.Node = name
			return
		}
	}
	panic("no capacity for " + p.UID)
}

func created(*PodState)      {}
func judged(p *PodState)     { p.Unschedulable = true }
func runs(p *PodState)       { p.Phase = corev1.PodRunning }
func succeeded(p *PodState)  { p.Phase = corev1.PodSucceeded }
func picked(p *PodState)     { p.Disrupted = "PreemptionByScheduler" }
func terminates(p *PodState) { p.Terminating = true }
func gone(p *PodState)       { p.Deleted = true }

func (t *historyBuilder) starts(job string, attempt int32) {
	t.each(job, attempt, 0, 6, t.bind, runs)
	t.phase(job, v1alpha1.PhaseRunning)
}

func (t *historyBuilder) ends(job string, attempt int32) {
	t.each(job, attempt, 0, 6, succeeded)
	t.phase(job, v1alpha1.PhaseSucceeded)
}

func (t *historyBuilder) explains(job, message string) {
	t.job(job, func(j *JobState) { j.Reason, j.Message = v1alpha1.ReasonUnschedulable, message })
}

// says reports progress of a trainer, whose 1000 steps count over all attempts.
func (t *historyBuilder) says(job string, attempt int32, step int64) {
	t.job(job, func(j *JobState) { j.Progress = &Progress{attempt, step, 1000} })
}

// saved is a complete checkpoint.
func saved(attempt int32, step int64) *Point {
	return &Point{URI: fmt.Sprintf("pvc://second-checkpoints/attempt-%d/step-%d", attempt, step), Step: step}
}

// returns puts the job back into its queue; it resumes from its last checkpoint.
func returns(j *JobState) {
	j.Phase, j.Attempt, j.Preemptions, j.Gang, j.Reason, j.Message = v1alpha1.PhaseQueued, 2, 1, "0/6", "", ""
	j.ResumeFrom = j.Latest
	j.Work = Work{Interruptions: 1, LostSteps: 32, LostGPUSeconds: 24}
}

func runsAgain(j *JobState) { j.Work.Resumptions, j.Work.ResumeSeconds = 1, 16 }

// step is a part of the story that a test may replace.
type step struct {
	name string
	play func(*historyBuilder)
}

// steps is the story as it should go.
func steps() []step {
	return []step{
		{"nodes", func(t *historyBuilder) { t.nodes(4, 8) }},
		{"first starts", func(t *historyBuilder) {
			t.job(first, func(*JobState) {})
			t.each(first, 1, 0, 6, created)
			t.starts(first, 1)
		}},
		{"second waits", func(t *historyBuilder) {
			t.job(second, func(*JobState) {})
			t.each(second, 1, 0, 6, created, judged)
			t.explains(second, "6/6 tasks in gang unschedulable")
		}},
		{"first ends", func(t *historyBuilder) { t.ends(first, 1) }},
		{"second starts", func(t *historyBuilder) { t.starts(second, 1) }},
		{"second trains", func(t *historyBuilder) {
			t.says(second, 1, 40)
			t.job(second, func(j *JobState) { j.Progress, j.Latest = &Progress{1, 180, 1000}, saved(1, 160) })
		}},
		{"urgent comes", func(t *historyBuilder) {
			t.job(urgent, func(*JobState) {})
			t.each(urgent, 1, 0, 6, created, judged)
		}},
		{"the scheduler picks four", func(t *historyBuilder) { t.each(second, 1, 0, 4, picked, terminates, gone) }},
		{"second drains", func(t *historyBuilder) {
			t.job(second, func(j *JobState) {
				j.Phase, j.Reason, j.Gang = v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted, "2/6"
				j.Message = "second-worker-0: preempting to accommodate a higher priority pod; " +
					"the gang cannot run with 2 of 6 ranks"
			})
			t.each(second, 1, 4, 6, terminates, gone)
		}},
		{"second returns", func(t *historyBuilder) {
			t.job(second, returns)
		}},
		{"urgent starts", func(t *historyBuilder) { t.starts(urgent, 1) }},
		{"second waits again", func(t *historyBuilder) {
			t.each(second, 2, 0, 6, created, judged)
			t.explains(second, "6/6 tasks in gang unschedulable")
		}},
		{"urgent ends", func(t *historyBuilder) { t.ends(urgent, 1) }},
		{"second starts again", func(t *historyBuilder) { t.starts(second, 2) }},
		{"second trains again", func(t *historyBuilder) {
			t.job(second, runsAgain)
			t.says(second, 2, 160)
			t.job(second, func(j *JobState) { j.Progress, j.Latest = &Progress{2, 340, 1000}, saved(2, 320) })
			t.says(second, 2, 1000)
		}},
		{"second ends", func(t *historyBuilder) { t.ends(second, 2) }},
	}
}

// storyHistory is the history of the story with some steps replaced; nil leaves one out.
func storyHistory(instead map[string]func(*historyBuilder)) History {
	t := newHistoryBuilder()
	known := map[string]bool{}
	for _, s := range steps() {
		known[s.name] = true
		play, replaced := instead[s.name]
		switch {
		case !replaced:
			s.play(t)
		case play != nil:
			play(t)
		}
	}
	for name := range instead {
		if !known[name] {
			panic("the story has no step " + name)
		}
	}
	return t.history
}
