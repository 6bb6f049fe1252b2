package trainingjob

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestInvariantsHoldInRandomHistories lets schedulers, kubelets, users and nodes do what they want in seeded random order,
// with an operator that dies before any of its effects, and checks the invariants after every pass. At the end the world turns
// kind, and the job must end in success or, where its failures allow no other end, in Failed.
func TestInvariantsHoldInRandomHistories(t *testing.T) {
	ends, points, resumed := map[v1alpha1.Phase]int{}, map[string]int{}, 0
	for seed := range uint64(400) {
		w := randomHistory(t, seed)
		ends[w.job.Status.Phase]++
		for said, n := range w.settled {
			points[said] += n
		}
		for _, from := range w.resumed {
			resumed += btoi(from != "")
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, w.log.String())
		}
	}
	t.Logf("ends: %v; attempts that resumed: %d; resume points by what was said of them: %v", ends, resumed, points)
	if resumed == 0 || points[""] == 0 || points[v1alpha1.ReasonUnresolved] == 0 || points[v1alpha1.ReasonNoCheckpoint] == 0 {
		t.Errorf("%d attempts resumed, points %v: the histories no longer reach them all, they prove little", resumed, points)
	}
	if ends[v1alpha1.PhaseSucceeded] == 0 || ends[v1alpha1.PhaseFailed] == 0 {
		t.Errorf("ends %v: the histories no longer reach both ends, they prove little", ends)
	}
}

func randomHistory(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	job := newJob(2 + rng.Int32N(4))
	if rng.IntN(3) == 0 {
		job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr(1 + rng.Int32N(*job.Spec.Replicas))
	}
	if rng.IntN(4) == 0 {
		job.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	}
	if rng.IntN(3) == 0 {
		job.Spec.BackoffLimit = ptr(rng.Int32N(2))
	}
	w := newWorld(t, job)
	if rng.IntN(2) == 0 {
		withCheckpoints(job)
		if rng.IntN(4) == 0 {
			w.agent.ReportURL = "" // nobody listens
		}
	}
	failures := int32(0)
	for range 40 {
		w.lingers = rng.IntN(2) == 0
		switch rng.IntN(4) {
		case 0: // the operator is away, and what was reported to it is forgotten
			w.departed, w.report = nil, nil
		default:
			w.crash = func() bool { return rng.IntN(6) == 0 }
			for range rng.IntN(12) {
				w.pass()
			}
		}
		failures += w.happen(rng)
		w.trains(rng)
	}
	w.kind(failures)
	return w
}

// happen is one thing that is done to the job; it returns the number of failures that it caused.
func (w *world) happen(rng *rand.Rand) int32 {
	var pending, bound, running []string
	for _, p := range w.pods {
		switch {
		case p.DeletionTimestamp != nil || Ended(p) || IsResolver(p):
		case p.Spec.NodeName == "":
			pending = append(pending, p.Name)
		case p.Status.Phase == corev1.PodPending:
			bound = append(bound, p.Name)
		default:
			running = append(running, p.Name)
		}
	}
	one := func(names []string) string { return names[rng.IntN(len(names))] }
	held := slices.Concat(bound, running)
	switch n := rng.IntN(12); {
	case n < 3 && len(pending) > 0 && int32(len(w.names())) >= MinAvailable(w.job) && w.job.Status.Phase != v1alpha1.PhaseDraining:
		w.bind(pending...)
	case n < 5 && len(bound) > 0:
		w.start(bound...)
	case n == 5 && len(held) > 0:
		w.preempt(one(held))
	case (n == 6 || n == 11) && len(running) > 0:
		w.exit(1+rng.Int32N(200), one(running))
		return 1
	case n == 7 && len(w.pods) > 0: // somebody deletes a pod, or a kubelet is through with one
		pod := w.pods[rng.IntN(len(w.pods))]
		w.say("somebody deletes %s", pod.Name)
		w.deletePod(pod)
	case n == 8:
		w.verdict.Admission = []scheduler.Admission{scheduler.Go, scheduler.Hold}[rng.IntN(2)]
		w.say("verdict %s", w.verdict.Admission)
	case n == 9:
		suspend(w, rng.IntN(3) == 0)
		w.say("suspend %t", *w.job.Spec.RunPolicy.Suspend)
	case n == 10:
		for _, p := range slices.Clone(w.pods) {
			if p.DeletionTimestamp != nil {
				w.remove(p.Name)
			}
		}
	default:
		w.advance(time.Duration(rng.IntN(20)) * time.Second)
	}
	return 0
}

// trains is what a trainer, its agent and the search of the volume do meanwhile, at random: saves that tear, reports that get lost,
// last words that are heard or not, searches that fail.
func (w *world) trains(rng *rand.Rand) {
	if Checkpoints(w.job) == nil {
		return
	}
	if pod := w.find("bert-resolve"); pod != nil && !Ended(pod) && pod.DeletionTimestamp == nil && rng.IntN(2) == 0 {
		if rng.IntN(3) == 0 {
			w.endSearch(1, checkpoint.Termination{Reason: checkpoint.ExitFailed, Problem: "input/output error"})
		} else {
			w.finds()
		}
	}
	first := w.find("bert-worker-0")
	if first == nil || first.Status.Phase != corev1.PodRunning {
		return
	}
	w.step += rng.Int64N(50)
	var edit []func(*checkpoint.Report)
	if rng.IntN(3) == 0 {
		s := w.saves(w.step)
		if rng.IntN(4) == 0 { // torn while it was written: its agent does not call it complete
			w.volume[len(w.volume)-1].torn = true
		} else {
			edit = append(edit, w.committed(s))
		}
	}
	if w.agent.ReportURL != "" && rng.IntN(3) > 0 {
		w.reports(w.step, edit...)
	}
	if first.DeletionTimestamp != nil && rng.IntN(2) == 0 { // it ends by itself after SIGTERM
		w.ends(exited([]int32{0, 143}[rng.IntN(2)]), "bert-worker-0")
	}
}

// kind is a world in which everything works: the job must come to its end.
func (w *world) kind(failures int32) {
	w.say("(the world turns kind)")
	w.crash = func() bool { return false }
	w.lingers = false
	w.verdict = scheduler.Verdict{Admission: scheduler.Go}
	suspend(w, false)
	for range 60 {
		for _, p := range slices.Clone(w.pods) {
			if p.DeletionTimestamp != nil {
				w.remove(p.Name)
			}
		}
		w.converge()
		if w.job.Status.Phase.Finished() {
			break
		}
		for _, p := range slices.Clone(w.pods) {
			switch {
			case Ended(p):
			case IsResolver(p):
				w.finds()
			case p.Spec.NodeName == "" && int32(len(w.names())) >= MinAvailable(w.job):
				w.bind(p.Name)
			case p.Status.Phase == corev1.PodPending:
				w.start(p.Name)
			case w.job.Status.Phase == v1alpha1.PhaseRunning:
				w.exit(0, p.Name)
			}
		}
		if !w.wake.IsZero() && w.wake.After(w.now) {
			w.advance(w.wake.Sub(w.now))
		}
	}
	w.converge()
	st := w.job.Status
	switch {
	case !st.Phase.Finished():
		w.t.Errorf("the job never ended: %s, %s", st.Phase, st.Message)
	case st.Phase == v1alpha1.PhaseFailed && Scope(w.job) == v1alpha1.ScopeGang && failures <= BackoffLimit(w.job):
		w.t.Errorf("failed after %d failures with backoffLimit %d: %s", failures, BackoffLimit(w.job), st.Message)
	case w.group:
		w.t.Errorf("invariant 5: the group is still there")
	case st.Restarts > failures && Scope(w.job) == v1alpha1.ScopeGang:
		w.t.Errorf("invariant 4: %d restarts for %d failures", st.Restarts, failures)
	case slices.ContainsFunc(w.pods, func(p *corev1.Pod) bool { return !Ended(p) }):
		w.t.Errorf("invariant 5: live pods are left: %v", w.names())
	}
	if t := w.t; t.Failed() {
		w.say("end: %s", fmt.Sprint(st.Phase, " ", st.Message))
	}
}

// BenchmarkDecide is one pass over a running job of 5,000 ranks, and BenchmarkDecideCreate the one that creates them all.
func BenchmarkDecide(b *testing.B) {
	for name, up := range map[string]bool{"create": false, "running": true} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, newJob(5000))
			w.pass()
			if up {
				w.converge()
				w.bind()
				w.start()
				w.converge()
			}
			s := w.snapshot()
			b.ResetTimer()
			for b.Loop() {
				Decide(s)
			}
		})
	}
}
