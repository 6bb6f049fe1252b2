package trainingjob

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Checkpoints that a gang saves before it stops, and the resume points of its next attempt.
var checkpointStories = map[string]story{
	"checkpoint-preempted-after-a-commit": {jobtest.New(3, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.narrate("two of three ranks are preempted")
		sim.terminate(exited(143), "bert-worker-0")
		sim.narrate("the operator reads the final report of rank 0 before its pod is deleted")
		for _, name := range sim.rankNames() {
			sim.removePod(name)
		}
		sim.narrate("the grace period ends")
		sim.logCheckpoints()
		runAgain(sim)
		sim.postReport(201)
		sim.advance(time.Minute)
		sim.narrate("the training continues at step 201")
		sim.logCheckpoints()
	}},
	"checkpoint-saved-at-sigterm": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.logf("both ranks get SIGTERM, save, and exit 0 before the next reconcile")
		sim.saveCheckpoint(260)
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.narrate("that is no success, because rank 0 has not reported the last step")
		sim.logCheckpoints()
		runAgain(sim)
	}},
	"checkpoint-suspend-asks-first": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.logCommand()
		setSuspend(sim, true)
		sim.narrate("the user suspends the job; the operator deletes no pod yet")
		sim.logCommand()
		s := sim.saveCheckpoint(251)
		sim.postReport(251, withCommit(s), func(r *checkpoint.Report) {
			r.CommandID, r.DeliveredID = "drain-1", "drain-1"
		})
		sim.podsLinger = true
		sim.narrate("the trainer has saved, and the operator stops the ranks")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.narrate("the pods are deleted")
		sim.logCheckpoints()
		sim.podsLinger = false
		sim.logCommand()
		setSuspend(sim, false)
		sim.narrate("the user resumes the job")
		runAgain(sim)
	}},
	"checkpoint-resize-asks-first": {jobtest.New(4, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.job.Spec.Replicas = new(int32(2))
		sim.job.Generation++
		sim.narrate("the user makes the gang smaller")
		sim.logCommand()
		sim.saveCheckpoint(255)
		sim.terminate(exited(0), "bert-worker-0")
		sim.narrate("rank 0 saves and exits, and the operator stops its peers at once")
		sim.logCheckpoints()
		runAgain(sim)
	}},
	"checkpoint-grows": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.job.Spec.Replicas = new(int32(4))
		sim.job.Generation++
		sim.narrate("the user makes the gang larger")
		sim.logCommand()
		sim.saveCheckpoint(255)
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.narrate("the ranks save and exit")
		runAgain(sim)
	}},
	"checkpoint-deadline-passes": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.verdict = judged(scheduler.Yield, "Preempted", "to free capacity for prod")
		sim.narrate("Kueue evicts the gang, and waits for its save")
		sim.advance(39 * time.Second)
		sim.narrate("one second before the deadline")
		sim.podsLinger = true
		sim.advance(time.Second)
		sim.narrate("at the deadline the operator stops all ranks")
		killed := checkpoint.Termination{
			Reason: checkpoint.ExitGraceExceeded, ExitCode: 137, Signal: "SIGKILL",
		}
		sim.terminate(killed, "bert-worker-0", "bert-worker-1")
		sim.verdict = judged(scheduler.Hold, "Preempted", "")
		sim.narrate("the kubelets killed them, and the agent of rank 0 made its final report")
		sim.logCheckpoints()
	}},
	"checkpoint-peer-fails-while-asked": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.podsLinger = true
		sim.exit(1, "bert-worker-1")
		sim.narrate("a peer fails, and rank 0 cannot save without it")
	}},
	"checkpoint-completed-while-drained": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.postReport(1000, func(r *checkpoint.Report) { r.Phase = checkpoint.PhaseCompleted })
		setSuspend(sim, true)
		sim.podsLinger = true
		sim.narrate("the user suspends the job while it completes")
		sim.terminate(completed(), "bert-worker-0", "bert-worker-1")
		sim.narrate("rank 0 has reported the last step")
	}},
	"checkpoint-completed-as-it-is-preempted": {jobtest.New(1, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.podsLinger = true
		sim.preempt("bert-worker-0")
		sim.terminate(completed(), "bert-worker-0")
		sim.narrate("the only rank is preempted after its last step, and reports that")
	}},
	"checkpoint-no-cooperation": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		runGang(sim)
		sim.terminate(exited(1), "bert-worker-1")
		sim.podsLinger = true
		sim.narrate("a trainer without checkpoints and reports fails")
		sim.terminate(exited(143), "bert-worker-0")
		sim.removePod("bert-worker-0")
		sim.narrate("its pods are deleted")
		sim.logCheckpoints()
		sim.advance(10 * time.Second)
		runAgain(sim)
	}},
	"checkpoint-never-started": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.narrate("the user applies a job")
		sim.bind()
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.narrate("its ranks are preempted before a container starts, so they saved nothing")
		sim.logCheckpoints()
	}},
	"checkpoint-agent-not-configured": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.agent = render.Agent{}
		sim.narrate("the user applies a job with checkpoints, and no agent is configured")
		sim.agent = render.Agent{Image: "agent:1"}
		sim.narrate("the admin configures one")
	}},
	"checkpoint-object-store-without-reports": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert"}
	}), func(sim *simulation) {
		resumes := func() {
			c := meta.FindStatusCondition(sim.job.Status.Conditions, v1alpha1.ConditionResumeNeedsReports)
			sim.logf("  condition %s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		sim.agent.ReportURL = ""
		runGang(sim)
		resumes()
		sim.agent.ReportURL = "https://operator.example.com:9443/reports"
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.narrate("the admin enables reports, and the gang is preempted")
		runAgain(sim)
		resumes()
	}},
	"checkpoint-resume-point-ignored": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.terminate(exited(1), "bert-worker-0")
		sim.narrate("rank 0 fails")
		sim.advance(10 * time.Second)
		runAgain(sim)
		sim.postReport(0)
		sim.narrate("the trainer starts at step 0")
		sim.logCheckpoints()
		s := sim.saveCheckpoint(100)
		sim.advance(time.Minute)
		sim.postReport(105, withCommit(s))
		sim.narrate("the trainer saves an older step, which does not become the resume point")
		sim.logCheckpoints()
		sim.terminate(exited(1), "bert-worker-0")
		sim.narrate("rank 0 fails again")
		sim.advance(20 * time.Second)
		runAgain(sim)
		sim.postReport(201)
		sim.narrate("the trainer starts at the resume point")
		sim.logCheckpoints()
	}},
	"checkpoint-progress-among-5000": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.running = 5000
		trainTo250(sim)
		sim.postReport(251)
		sim.narrate("the trainer continues")
		sim.advance(25 * time.Second)
		sim.postReport(260)
		sim.narrate("with few running jobs the operator would write progress by now")
		sim.advance(80 * time.Second)
		sim.narrate("with many running jobs it writes now")
	}},
	"checkpoint-kubeflow-protocol": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.logProgress()
		sim.postReport(300, func(r *checkpoint.Report) { r.Source = checkpoint.SourceKubeflow })
		sim.advance(30 * time.Second)
		sim.narrate("the trainer reports by the protocol of Kubeflow Trainer")
		sim.logProgress()
		sim.podsLinger = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.saveCheckpoint(310)
		sim.terminate(checkpoint.Termination{
			Reason: checkpoint.ExitExited, Phase: checkpoint.PhaseTraining, Step: new(int64(310)),
		}, "bert-worker-0", "bert-worker-1")
		sim.narrate("the trainer saves at SIGTERM and exits 0, and the agent reports no completion")
		sim.logProgress()
		runAgain(sim)
	}},
	"checkpoint-place-changed": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.podsLinger = true
		setSuspend(sim, true)
		sim.narrate("the user suspends the job")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.narrate("the job is suspended")
		sim.logCheckpoints()
		sim.job.Spec.Checkpoint.PVC.ClaimName = "models"
		sim.checkpointLost, sim.volume = true, nil
		setSuspend(sim, false)
		sim.narrate("the user resumes it on another claim, where no rank can read the checkpoint")
		sim.logCheckpoints()
	}},
}
