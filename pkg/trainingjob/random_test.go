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
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestInvariantsHoldInRandomHistories plays schedulers, kubelets, users and nodes in seeded random order,
// with crashes of the operator before random effects. It checks the invariants after every reconcile. At the
// end nothing disturbs the job any more: it must succeed, or fail if its failures exceed its limit.
func TestInvariantsHoldInRandomHistories(t *testing.T) {
	ends, reasons, resumed := map[v1alpha1.Phase]int{}, map[string]int{}, 0
	chosen, hangRestarts := 0, 0
	for seed := range uint64(400) {
		sim := randomHistory(t, seed)
		ends[sim.job.Status.Phase]++
		for reason, n := range sim.resumeReasons {
			reasons[reason] += n
		}
		chosen += sim.chosen
		hangRestarts += sim.hangRestarts
		for _, path := range sim.resumePaths {
			if path != "" {
				resumed++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, sim.log.String())
		}
	}
	t.Logf("ends: %v; attempts that resumed: %d; resume points by reason of CheckpointUnknown: %v; "+
		"chosen by the user: %d; restarts for hangs: %d", ends, resumed, reasons, chosen, hangRestarts)
	if chosen == 0 || hangRestarts == 0 {
		t.Error("the user chose no resume point, or no gang was restarted for a hang: too few cases")
	}
	for _, reason := range []string{"", v1alpha1.ReasonUnresolved, v1alpha1.ReasonNoCheckpoint} {
		if reasons[reason] == 0 || resumed == 0 {
			t.Errorf("%d attempts resumed, resume points %v: "+
				"the histories do not cover all reasons", resumed, reasons)
		}
	}
	if ends[v1alpha1.PhaseSucceeded] == 0 || ends[v1alpha1.PhaseFailed] == 0 {
		t.Errorf("ends %v: the histories do not cover both ends", ends)
	}
}

func randomHistory(t *testing.T, seed uint64) *simulation {
	rng := rand.New(rand.NewPCG(seed, 1))
	job := jobtest.New(2 + rng.Int32N(4))
	switch rng.IntN(8) {
	case 0:
		job.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	case 1:
		elastic(1 + rng.Int32N(*job.Spec.Replicas))(job)
	}
	if rng.IntN(3) == 0 && job.Spec.ElasticPolicy == nil {
		job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(1 + rng.Int32N(*job.Spec.Replicas))
	}
	if rng.IntN(3) == 0 {
		job.Spec.BackoffLimit = new(rng.Int32N(2))
	}
	if rng.IntN(4) == 0 && spec.Scope(job) == v1alpha1.ScopeGang {
		job.Spec.RestartPolicy = v1alpha1.RestartExitCode
	}
	reservations := rand.New(rand.NewPCG(seed, 2)) // the other events are as without them
	sim := newSimulation(t, job)
	sim.checksOwners = 11
	sim.oldKubelets = rng.IntN(3) == 0
	sim.beside = []beside{besideNothing, besideNothing, besideProxy, besideNative}[rng.IntN(4)]
	if rng.IntN(3) == 0 {
		sim.history = 2 + rng.IntN(4) // so that older transitions are dropped
	}
	whole := job.Spec.RunPolicy.SchedulingPolicy.MinAvailable == nil && job.Spec.ElasticPolicy == nil
	if rng.IntN(3) == 0 && whole {
		jobtest.Roles(job)
	} else if rng.IntN(2) == 0 {
		jobtest.Checkpoints(job)
		if rng.IntN(4) == 0 {
			sim.agent.ReportURL = "" // there is no report server
		}
	}
	failures, server, beats := int32(0), rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, 3))
	sim.watchRandomly(beats)
	for range 40 {
		sim.randomMLflow(server)
		sim.podsLinger = rng.IntN(2) == 0
		switch rng.IntN(4) {
		case 0: // the operator is down, and loses its memory
			sim.departed, sim.report = nil, nil
		default:
			sim.shouldCrash = func() bool { return rng.IntN(6) == 0 }
			for range rng.IntN(12) {
				sim.reconcile()
			}
		}
		failures += sim.randomEvent(rng)
		sim.randomBackfill(reservations)
		sim.checkHanging()
		sim.randomTraining(rng)
		sim.obeySIGTERM(rng)
		sim.randomBeats(beats)
	}
	sim.runToTheEnd()
	sim.checkEnd(failures)
	return sim
}

// randomEvent plays one event. It returns the number of failures that it caused.
func (sim *simulation) randomEvent(rng *rand.Rand) int32 {
	var pending, bound, running, ending []string
	for _, p := range sim.pods {
		switch {
		case p.DeletionTimestamp != nil || observation.Ended(p) || render.IsResolver(p):
		case p.Spec.NodeName == "":
			pending = append(pending, p.Name)
		case p.Status.Phase == corev1.PodPending:
			bound = append(bound, p.Name)
		case outlived(p):
			ending = append(ending, p.Name)
		default:
			running = append(running, p.Name)
		}
	}
	anyOf := func(names []string) string { return names[rng.IntN(len(names))] }
	onNodes := slices.Concat(bound, running)
	bindable := len(pending) > 0 && sim.gangIsComplete() && sim.job.Status.Phase != v1alpha1.PhaseDraining
	switch n := rng.IntN(23); {
	case n < 3 && bindable:
		sim.bind(pending...)
	case n < 5 && len(bound) > 0:
		sim.start(bound...)
	case n == 5 && len(onNodes) > 0:
		sim.disruptions++
		sim.preempt(anyOf(onNodes))
	case (n == 6 || n == 11) && len(running) > 0:
		sim.exit(1+rng.Int32N(200), anyOf(running))
		return 1
	case n == 12 && len(running) > 0:
		sim.exit(0, anyOf(running))
	case n == 13 && len(running) > 0:
		sim.evictOverLimit(anyOf(running), `Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". `)
		return 1
	case (n == 18 || n == 19) && len(running) > 0 && spec.Scope(sim.job) == v1alpha1.ScopeRank:
		if n == 18 {
			sim.restartNodeInPlace(anyOf(running))
			return 0
		}
		sim.restartContainers(anyOf(running))
		return 1
	case n == 20 && len(ending) > 0:
		sim.endProxy([]int32{0, 0, 137}[rng.IntN(3)], anyOf(ending))
	case n == 21 && len(running) > 0 && sim.beside == besideProxy:
		sim.endProxy(1, anyOf(running))
	case n == 22 && len(onNodes) > 0:
		sim.hangPod(anyOf(onNodes))
	case n == 17 && len(running) > 0:
		sim.disruptions++
		sim.restartNode(anyOf(running))
	case n == 16 && len(bound) > 0:
		sim.disruptions++
		sim.rejectPod(anyOf(bound), "OutOfcpu", "Node didn't have enough resource: cpu")
	case n == 15 && len(running) > 0: // deletion, exit and removal before the next reconcile
		sim.disruptions++
		sim.deleteAndRemove(anyOf(running))
	case n == 14 && len(running) > 1: // two ends before one reconcile
		rng.Shuffle(len(running), func(i, j int) { running[i], running[j] = running[j], running[i] })
		sim.exit([]int32{0, 1, 137}[rng.IntN(3)], running[0])
		sim.exit([]int32{1, 2, 137, 143}[rng.IntN(4)], running[1])
		return 2
	case n == 7 && len(sim.pods) > 0: // a user deletes a pod, or a terminating pod is removed
		pod := sim.pods[rng.IntN(len(sim.pods))]
		sim.disruptions++
		sim.logf("the user deletes %s", pod.Name)
		sim.deletePod(pod)
	case n == 8:
		sim.verdict.Admission = []scheduler.Admission{scheduler.Go, scheduler.Hold}[rng.IntN(2)]
		sim.unplaceable = nil
		if rng.IntN(3) == 0 {
			sim.unplaceable = &scheduler.Explanation{Reason: scheduler.ReasonNoNodeMatches}
		}
		sim.explanation = nil
		if rng.IntN(3) == 0 {
			sim.explanation = &scheduler.Explanation{Reason: scheduler.ReasonSchedulerRests}
		}
		sim.logf("verdict %s, unplaceable %t, scheduler rests %t", sim.verdict.Admission, sim.unplaceable != nil,
			sim.explanation != nil)
	case n == 9:
		setSuspend(sim, rng.IntN(3) == 0)
		sim.logf("suspend %t", *sim.job.Spec.RunPolicy.Suspend)
		sim.chooseResumePoint(rng)
	case n == 10:
		sim.removeTerminating()
	default:
		sim.advance(time.Duration(rng.IntN(20)) * time.Second)
	}
	return 0
}

// chooseResumePoint sets spec.checkpoint.resumeFrom while it can change, mostly to the step of a checkpoint.
func (sim *simulation) chooseResumePoint(rng *rand.Rand) {
	st := sim.job.Status
	canChange := st.Phase == v1alpha1.PhaseSuspended || st.Phase == v1alpha1.PhaseQueued
	if !canChange || st.Attempt == 0 || len(sim.volume) == 0 || spec.Checkpoints(sim.job) == nil {
		return
	}
	step := sim.volume[rng.IntN(len(sim.volume))].step
	if rng.IntN(4) == 0 {
		step++
	}
	setResumeFrom(sim, fmt.Sprint(step))
	sim.logf("resumeFrom %d", step)
}

// obeySIGTERM ends ranks after a deletion or a checkpoint-and-exit command, mostly with exit code 0.
func (sim *simulation) obeySIGTERM(rng *rand.Rand) {
	if decision.Answer(sim.job).Command == checkpoint.CommandCheckpointAndExit && rng.IntN(2) == 0 {
		for _, name := range sim.rankNames() {
			if p := sim.findPod(name); p.Status.Phase == corev1.PodRunning && !trainerEnded(p) {
				sim.exit(0, name)
			}
		}
	}
	for _, p := range slices.Clone(sim.pods) {
		runs := p.Status.Phase == corev1.PodRunning && !render.IsResolver(p)
		switch {
		case !runs || p.DeletionTimestamp == nil || sim.hanging[p.UID] || rng.IntN(2) == 0:
		case outlived(p):
			sim.endProxy(0, p.Name)
		default:
			sim.exit([]int32{0, 0, 143}[rng.IntN(3)], p.Name)
		}
	}
}

// deleteAndRemove deletes a rank, which exits 0 on SIGTERM. Its kubelet then removes the pod.
func (sim *simulation) deleteAndRemove(name string) {
	sim.logf("the user deletes %s", name)
	sim.podsLinger = true
	sim.deletePod(sim.findPod(name))
	sim.exit(0, name)
	sim.advance(3 * time.Second)
	sim.removePod(name)
}

// hangPod deletes a rank, which does not end until checkHanging has seen it.
func (sim *simulation) hangPod(name string) {
	sim.logf("the user deletes %s, which hangs", name)
	sim.disruptions++
	sim.hanging[sim.findPod(name).UID] = true
	sim.deletePod(sim.findPod(name))
}

// checkHanging checks that the blocker reports a pod that hangs, once its time is over. Then the pod ends.
func (sim *simulation) checkHanging() {
	hangs := func(p *corev1.Pod) bool { return sim.hanging[p.UID] && p.DeletionTimestamp != nil }
	if !slices.ContainsFunc(sim.pods, hangs) {
		return
	}
	sim.shouldCrash = func() bool { return false }
	for range 3 { // the grace period, the margin, and the delay of a new reason
		sim.converge()
		sim.advance(90 * time.Second)
	}
	sim.converge()
	st := sim.job.Status
	if s := st.Scheduling; !st.Phase.Finished() && (s == nil || s.Blocker == nil ||
		s.Blocker.Reason != v1alpha1.ReasonPodHangs) {
		sim.t.Errorf("a pod hangs, and the status has %+v", s)
	}
	clear(sim.hanging)
}

// gangIsComplete reports whether minAvailable ranks have pods. A gang scheduler binds no rank before.
func (sim *simulation) gangIsComplete() bool {
	return int32(len(sim.rankNames())) >= spec.MinAvailable(sim.job)
}

// randomTraining plays trainer, agent and search: incomplete saves, lost reports and termination messages,
// failed searches.
func (sim *simulation) randomTraining(rng *rand.Rand) {
	if spec.Checkpoints(sim.job) == nil {
		return
	}
	resolver := sim.findPod("bert-resolve")
	searching := resolver != nil && !observation.Ended(resolver) && resolver.DeletionTimestamp == nil
	if searching && rng.IntN(2) == 0 {
		if rng.IntN(3) == 0 {
			sim.failSearch("input/output error")
		} else {
			sim.finishSearch()
		}
	}
	first := sim.findPod("bert-worker-0")
	if first == nil || first.Status.Phase != corev1.PodRunning || trainerEnded(first) {
		return
	}
	if st := sim.job.Status; sim.trainedAttempt != st.Attempt {
		sim.trainedAttempt = st.Attempt
		if branchOf(st).BranchAttempt == st.Attempt {
			sim.trainedStep = resumeStep(st)
		}
	}
	sim.trainedStep += rng.Int64N(50)
	var edit []func(*checkpoint.Report)
	if rng.IntN(3) == 0 {
		s := sim.saveCheckpoint(sim.trainedStep)
		if rng.IntN(4) == 0 { // incomplete, so the agent does not report it
			sim.tearNewest()
		} else {
			edit = append(edit, withCommit(s))
		}
	}
	if sim.agent.ReportURL != "" && rng.IntN(3) > 0 {
		sim.postReport(sim.trainedStep, edit...)
	}
	if first.DeletionTimestamp != nil && !sim.hanging[first.UID] && rng.IntN(2) == 0 { // it exits after SIGTERM
		sim.terminate(exited([]int32{0, 143}[rng.IntN(2)]), "bert-worker-0")
	}
}

// runToTheEnd runs the job to its end without further disturbances.
func (sim *simulation) runToTheEnd() {
	sim.logf("(no further disturbances)")
	sim.shouldCrash = func() bool { return false }
	sim.podsLinger = false
	sim.verdict = scheduler.Verdict{Admission: scheduler.Go}
	sim.unplaceable, sim.explanation, sim.backfill = nil, nil, &observation.Backfill{}
	setSuspend(sim, false)
	if spec.Checkpoints(sim.job) != nil {
		setResumeFrom(sim, "")
	}
	for range 60 {
		sim.removeTerminating()
		sim.converge()
		if sim.job.Status.Phase.Finished() && !slices.ContainsFunc(sim.pods, outlived) {
			break
		}
		for _, p := range slices.Clone(sim.pods) {
			switch {
			case observation.Ended(p) || outlived(p): // the operator deletes the latter
			case render.IsResolver(p):
				sim.finishSearch()
			case p.Spec.NodeName == "" && sim.gangIsComplete():
				sim.bind(p.Name)
			case p.Status.Phase == corev1.PodPending:
				sim.start(p.Name)
			case sim.job.Status.Phase == v1alpha1.PhaseRunning:
				sim.exit(0, p.Name)
			}
		}
		sim.advanceToWake()
	}
	sim.converge()
}

// advanceToWake advances to the wake time of the last plan.
func (sim *simulation) advanceToWake() {
	if !sim.wake.IsZero() && sim.wake.After(sim.now) {
		sim.advance(sim.wake.Sub(sim.now))
	}
}

// checkEnd checks the end of a job after so many failures.
func (sim *simulation) checkEnd(failures int32) {
	st, limit := sim.job.Status, spec.BackoffLimit(sim.job)
	permanent := sim.job.Spec.RestartPolicy == v1alpha1.RestartExitCode && failures > 0
	live := func(p *corev1.Pod) bool { return !observation.Ended(p) }
	switch {
	case !st.Phase.Finished():
		sim.t.Errorf("the job did not end: %s, %s", st.Phase, st.Message)
	case st.Phase == v1alpha1.PhaseFailed && failures <= limit && !permanent:
		sim.t.Errorf("failed after %d failures with backoffLimit %d: %s", failures, limit, st.Message)
	case sim.groupExists:
		sim.t.Errorf("invariant 5: the group still exists")
	case st.Restarts > failures:
		sim.t.Errorf("invariant 4: %d restarts for %d failures", st.Restarts, failures)
	case st.Preemptions > sim.disruptions:
		sim.t.Errorf("invariant 4: %d preemptions for %d disruptions", st.Preemptions, sim.disruptions)
	case slices.ContainsFunc(sim.pods, live):
		sim.t.Errorf("invariant 5: live pods are left: %v", sim.rankNames())
	}
	if sim.t.Failed() {
		sim.logf("end: %s %s", st.Phase, st.Message)
	}
}
