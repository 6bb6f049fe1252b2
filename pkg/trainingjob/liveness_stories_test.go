package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// livenessMode sets the mode of a job.
func livenessMode(
	mode v1alpha1.LivenessMode, edit ...func(*v1alpha1.LivenessPolicy),
) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.Liveness = &v1alpha1.LivenessPolicy{Mode: mode}
		for _, e := range edit {
			e(j.Spec.RunPolicy.Liveness)
		}
	}
}

var (
	off  = livenessMode(v1alpha1.LivenessOff)
	warn = livenessMode(v1alpha1.LivenessWarn)
	act  = livenessMode(v1alpha1.LivenessAct)
)

// trainWatched runs a gang of four ranks with beats to step 150. Its agent has reported a checkpoint of step
// 100.
func trainWatched(sim *simulation, limit v1alpha1.LivenessMode) {
	sim.watch(limit)
	runGang(sim)
	sim.pass(5 * time.Minute)
	if spec.Checkpoints(sim.job) != nil {
		sim.postReport(100, withCommit(sim.saveCheckpoint(100)))
	}
	sim.narrate("the gang trains")
	sim.logLiveness()
}

// hangAndRestart lets a gang hang until the operator has restarted it, and runs the next attempt.
func hangAndRestart(sim *simulation, behind ...string) {
	sim.stall(behind...)
	sim.passWhileRunning(18 * time.Minute)
	sim.logStatus()
	sim.logLiveness()
	sim.logCommand()
	endHang(sim)
}

// endHang ends the ranks of a gang that the operator restarts, and runs the next attempt.
func endHang(sim *simulation) {
	if sim.job.Status.Phase != v1alpha1.PhaseDraining {
		sim.t.Fatalf("the job is %s, want Draining", sim.job.Status.Phase)
	}
	sim.podsLinger = true
	sim.advance(time.Minute)
	sim.narrate("the trainer does not save in time, and the operator stops all ranks")
	sim.terminate(exited(143), sim.rankNames()...)
	sim.podsLinger = false
	sim.removeTerminating()
	sim.narrate("all pods have ended")
	for range 3 {
		sim.advanceToWake()
		sim.converge()
	}
	sim.stalled = false
	sim.bindAndStart()
	sim.narrate("all ranks are running again")
}

var livenessStories = map[string]story{
	"hang-off": {jobtest.New(4, jobtest.Checkpoints, off), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-2")
		sim.pass(3 * time.Hour)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-warn": {jobtest.New(4, jobtest.Checkpoints, warn), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		writes := sim.statusWrites
		sim.pass(2 * time.Hour)
		sim.logf("? status writes in two hours of training: %d", sim.statusWrites-writes)
		sim.stall("bert-worker-2")
		sim.pass(14 * time.Minute)
		sim.logLiveness()
		writes = sim.statusWrites
		sim.pass(3 * time.Hour)
		sim.logf("? status writes of a hang of three hours: %d", sim.statusWrites-writes)
		sim.logStatus()
		sim.logLiveness()
		sim.logf("the training continues by itself")
		sim.stalled = false
		sim.pass(5 * time.Minute)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-warn-at-most": {jobtest.New(2, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessWarn)
		sim.stall()
		sim.pass(time.Hour)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-of-a-rank-scope": {jobtest.New(2, jobtest.Checkpoints, warn, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	}), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-1")
		sim.pass(time.Hour)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-act": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		hangAndRestart(sim, "bert-worker-2")
		sim.logCheckpoints()
		sim.logLiveness()
		sim.pass(5 * time.Minute)
		sim.postReport(250, withCommit(sim.saveCheckpoint(250)))
		sim.narrate("the gang trains on, beyond the step of the hang")
		sim.logLiveness()
	}},
	"hang-act-saves-first": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-2")
		sim.passWhileRunning(18 * time.Minute)
		sim.logCommand()
		s := sim.saveCheckpoint(151)
		sim.postReport(151, withCommit(s), func(r *checkpoint.Report) {
			r.CommandID, r.DeliveredID = "drain-1", "drain-1"
		})
		sim.podsLinger = true
		sim.narrate("a thread of the trainer saves, and the operator stops the ranks")
		sim.terminate(exited(0), sim.rankNames()...)
		sim.podsLinger = false
		sim.removeTerminating()
		sim.narrate("the pods are deleted")
		sim.logCheckpoints()
		sim.logLiveness()
	}},
	"hang-excludes-a-node": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		hangAndRestart(sim, "bert-worker-2")
		sim.pass(5 * time.Minute)
		sim.postReport(250, withCommit(sim.saveCheckpoint(250)))
		sim.narrate("the gang trains on")
		hangAndRestart(sim, "bert-worker-2")
		sim.logLiveness()
		sim.logExcluded()
	}},
	"hang-keeps-the-node": {jobtest.New(4, jobtest.Checkpoints, livenessMode(v1alpha1.LivenessAct,
		func(p *v1alpha1.LivenessPolicy) { p.ExcludeNode = new(false) })), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		hangAndRestart(sim, "bert-worker-2")
		sim.pass(5 * time.Minute)
		sim.postReport(250, withCommit(sim.saveCheckpoint(250)))
		sim.narrate("the gang trains on")
		hangAndRestart(sim, "bert-worker-2")
		sim.logLiveness()
		sim.logExcluded()
	}},
	"hang-restarts-in-vain": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		for range 2 {
			hangAndRestart(sim)
			sim.logLiveness()
			sim.sendBeats()
		}
		sim.stall()
		sim.pass(2 * time.Hour)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-restarts-are-spent": {jobtest.New(4, jobtest.Checkpoints, livenessMode(v1alpha1.LivenessAct,
		func(p *v1alpha1.LivenessPolicy) { p.MaxRestarts = new(int32(1)) })), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		hangAndRestart(sim)
		sim.pass(5 * time.Minute)
		sim.postReport(250, withCommit(sim.saveCheckpoint(250)))
		sim.narrate("the gang trains on")
		sim.stall()
		sim.pass(2 * time.Hour)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-of-many-jobs": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-2")
		sim.pass(15*time.Minute + 30*time.Second)
		sim.logLiveness()
		sim.hangs = &observation.Hangs{Watched: 40, Running: 60, Together: 14}
		sim.pass(2 * time.Hour)
		sim.logStatus()
		sim.logLiveness()
		sim.hangs.Together = 1
		sim.pass(2 * time.Minute)
		sim.logf("the other jobs train on")
		sim.logStatus()
	}},
	"hang-restarts-of-the-cluster": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-2")
		sim.hangs = &observation.Hangs{Watched: 40, Running: 60, Together: 1, Restarts: 3}
		sim.pass(time.Hour)
		sim.logStatus()
		sim.hangs.Restarts = 2
		sim.pass(2 * time.Minute)
		sim.logStatus()
	}},
	"hang-as-the-operator-restarts": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-2")
		sim.pass(15*time.Minute + 20*time.Second)
		sim.logLiveness()
		sim.restartOperator()
		sim.logf("the new leader keeps what the former one reported")
		sim.logLiveness()
		sim.pass(5 * time.Minute)
		sim.logStatus()
		sim.logLiveness()
		sim.pass(6 * time.Minute)
		sim.logf("the new leader acts after ten minutes")
		sim.logStatus()
	}},
	"hang-before-the-first-step": {jobtest.New(2, jobtest.Checkpoints, warn), func(sim *simulation) {
		sim.watch(v1alpha1.LivenessWarn)
		runGang(sim)
		sim.stalled = true
		sim.pass(50 * time.Minute)
		sim.logStatus()
		sim.logLiveness()
		sim.pass(15 * time.Minute)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-or-an-evaluation": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall()
		for _, tr := range sim.runningTrainers() {
			tr.phase = checkpoint.PhaseEvaluating
		}
		sim.logf("the trainer evaluates, with the label Evaluating")
		sim.pass(3 * time.Hour)
		sim.logStatus()
		sim.logLiveness()
		sim.pass(70 * time.Minute)
		sim.logf("that is longer than longPhaseSeconds")
		sim.logStatus()
	}},
	"hang-while-a-rank-moves-data": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall()
		sim.trainerOf("bert-worker-1").diskBytes = 20 << 20
		sim.pass(2 * time.Hour)
		sim.logStatus()
		sim.logLiveness()
	}},
	"hang-then-a-rank-fails": {jobtest.New(4, jobtest.Checkpoints, warn), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-2")
		sim.pass(10 * time.Minute)
		sim.terminate(exited(134), "bert-worker-3")
		sim.narrate("the watchdog of a waiting rank ends it")
	}},
	"rank-fails-as-the-hang-is-due": {jobtest.New(4, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall("bert-worker-2")
		sim.pass(15*time.Minute + 30*time.Second)
		sim.advance(time.Minute)
		sim.sendBeats()
		sim.terminate(exited(134), "bert-worker-3")
		sim.narrate("a rank fails when the operator would restart the gang")
		sim.logLiveness()
	}},
	"rank-sends-no-beats": {jobtest.New(16, jobtest.Checkpoints, act), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.trainerOf("bert-worker-5").silent = true
		sim.pass(time.Hour)
		sim.logStatus()
		sim.logLiveness()
		sim.trainerOf("bert-worker-5").silent = false
		sim.pass(5 * time.Minute)
		sim.logf("the rank sends beats again")
		sim.logLiveness()
	}},
	"ranks-cannot-reach-the-server": {jobtest.New(16, jobtest.Checkpoints, warn), func(sim *simulation) {
		sim.watch(v1alpha1.LivenessWarn)
		runGang(sim)
		for name, tr := range sim.runningTrainers() {
			tr.silent = name != "bert-worker-0"
		}
		sim.pass(time.Hour)
		sim.logStatus()
		sim.logLiveness()
	}},
	"gang-is-slow": {jobtest.New(4, jobtest.Checkpoints, warn), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessWarn)
		sim.stepTime = 5 * time.Second
		sim.pass(8 * time.Minute)
		sim.logLiveness()
		sim.pass(8 * time.Minute)
		sim.logLiveness()
		sim.stepTime = stepTime
		sim.pass(5 * time.Minute)
		sim.logLiveness()
	}},
	"liveness-on-while-it-runs": {jobtest.New(2, jobtest.Checkpoints, off), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		act(sim.job)
		sim.stall()
		sim.pass(time.Hour)
		sim.narrate("the ranks are older than the mode, and send no beats")
		sim.logLiveness()
	}},
	"liveness-off-while-it-hangs": {jobtest.New(2, jobtest.Checkpoints, warn), func(sim *simulation) {
		trainWatched(sim, v1alpha1.LivenessAct)
		sim.stall()
		sim.pass(time.Hour)
		sim.logLiveness()
		off(sim.job)
		sim.narrate("the user turns the mode off")
		sim.pass(time.Minute)
		sim.logStatus()
		sim.logLiveness()
	}},
}
