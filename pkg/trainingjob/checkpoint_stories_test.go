package trainingjob

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// trains brings a gang to step 250, with a checkpoint at step 200 that was reported.
func trains(sim *simulation) {
	running(sim)
	sim.reports(10)
	sim.converge()
	sim.advance(2 * time.Minute)
	s := sim.saves(200)
	sim.reports(205, sim.committed(s))
	sim.tell("the checkpoint of step 200 is reported at once")
	sim.advance(30 * time.Second)
	sim.reports(250)
	sim.tell("and then progress")
	sim.points()
}

// goneSilent: the node of every rank dies, and somebody removes the pods.
func goneSilent(sim *simulation) {
	for _, name := range sim.names() {
		sim.remove(name)
	}
	sim.departed = nil
}

func again(sim *simulation) {
	sim.lingers = false
	for _, pod := range slices.Clone(sim.pods) {
		if pod.DeletionTimestamp != nil {
			sim.remove(pod.Name)
		}
	}
	sim.converge() // what waited for them, or for a backoff
	sim.up()
	sim.tell("all ranks run again")
	sim.points()
}

// exited is the last word of a trainer that saved and left, or was killed.
func exited(code int32) checkpoint.Termination {
	return checkpoint.Termination{Reason: checkpoint.ExitExited, ExitCode: code, Phase: checkpoint.PhaseTraining}
}

var checkpointStories = map[string]struct {
	job  *v1alpha1.TrainingJob
	tell func(*simulation)
}{
	"checkpoint-preempted-after-a-commit": {jobtest.New(3, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.lingers = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.tell("two of three ranks are preempted")
		sim.ends(exited(143), "bert-worker-0")
		sim.tell("rank 0's last word is heard before its pod is gone")
		for _, name := range sim.names() {
			sim.remove(name)
		}
		sim.tell("the grace is over")
		sim.points()
		again(sim)
		sim.reports(201)
		sim.advance(time.Minute)
		sim.tell("it goes on at step 201")
		sim.points()
	}},
	"checkpoint-what-was-lost": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.job.CreationTimestamp = metav1.NewTime(sim.now.Add(-time.Minute))
		trains(sim)
		sim.worked()
		sim.lingers = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.tell("preempted 30 s and 50 steps after the last commit")
		sim.advance(10 * time.Second)
		sim.ends(exited(143), "bert-worker-0", "bert-worker-1")
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
		sim.tell("the ranks' grace does not count as lost")
		sim.worked()
		sim.advance(5 * time.Minute)
		sim.verdict = scheduler.Verdict{Admission: scheduler.Go}
		sim.tell("there is room again")
		again(sim)
		sim.worked()
		sim.advance(4 * time.Minute)
		sim.reports(500)
		sim.tell("it trains for 4 minutes and saves nothing")
		sim.lingers = true
		suspend(sim, true)
		sim.tell("the user suspends the job")
		s := sim.saves(501)
		sim.reports(501, sim.committed(s), func(r *checkpoint.Report) { r.CommandID = "drain-2" })
		sim.advance(8 * time.Second)
		sim.tell("the trainer saves first: nothing is lost")
		sim.ends(exited(0), "bert-worker-0", "bert-worker-1")
		sim.tell("the ranks are gone")
		sim.worked()
		suspend(sim, false)
		sim.tell("the user resumes the job")
		again(sim)
		sim.advance(time.Minute)
		sim.ends(checkpoint.Termination{Reason: checkpoint.ExitCompleted, Phase: checkpoint.PhaseCompleted}, "bert-worker-0", "bert-worker-1")
		sim.tell("and it ends")
		sim.worked()
	}},
	"checkpoint-steps-lost-within-a-second": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		s := sim.saves(300)
		sim.reports(303, sim.committed(s))
		sim.tell("3 steps beyond the last commit, in the same second")
		sim.lingers = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.ends(exited(143), "bert-worker-0", "bert-worker-1")
		sim.tell("the gang is preempted: steps that are lost cost a second")
		sim.worked()
	}},
	"work-without-checkpoints": {jobtest.New(2), func(sim *simulation) {
		sim.job.CreationTimestamp = metav1.NewTime(sim.now)
		running(sim)
		sim.advance(10 * time.Minute)
		sim.exit(1, "bert-worker-1")
		sim.tell("a rank fails after ten minutes")
		sim.worked()
	}},
	"checkpoint-saved-at-sigterm": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.lingers = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.say("both ranks get SIGTERM, save, and exit 0 before the operator looks")
		sim.saves(260)
		sim.ends(exited(0), "bert-worker-0", "bert-worker-1")
		sim.tell("that is no success: nobody said that every step is trained")
		sim.points()
		again(sim)
	}},
	"checkpoint-node-lost-after-a-stale-report": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.saves(300)
		goneSilent(sim)
		sim.tell("the node dies before the checkpoint of step 300 is reported; the pods vanish")
		sim.points()
		sim.bind("bert-resolve")
		sim.finds()
		sim.tell("the search of the volume ends")
		sim.points()
		sim.advance(10 * time.Second)
		again(sim)
	}},
	"checkpoint-torn-newest": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.saves(300)
		s := sim.saves(400)
		sim.reports(405, sim.committed(s))
		sim.tell("step 400 was complete when it was reported")
		sim.volume[len(sim.volume)-1].torn = true
		goneSilent(sim)
		sim.tell("the node dies, and with it what was not synced")
		sim.finds()
		sim.tell("the search passes over step 400")
		sim.points()
		again(sim)
	}},
	"checkpoint-suspend-asks-first": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.told()
		suspend(sim, true)
		sim.tell("the user suspends the job: no pod is touched yet")
		sim.told()
		s := sim.saves(251)
		sim.reports(251, sim.committed(s), func(r *checkpoint.Report) { r.CommandID, r.DeliveredID = "drain-1", "drain-1" })
		sim.lingers = true
		sim.tell("the trainer has carried it out: the ranks are ended")
		sim.ends(exited(0), "bert-worker-0", "bert-worker-1")
		sim.tell("they are gone")
		sim.points()
		sim.lingers = false
		sim.told()
		suspend(sim, false)
		sim.tell("the user resumes the job")
		again(sim)
	}},
	"checkpoint-resize-asks-first": {jobtest.New(4, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.job.Spec.Replicas = new(int32(2))
		sim.job.Generation++
		sim.tell("the user makes the gang smaller")
		sim.told()
		sim.saves(255)
		sim.ends(exited(0), "bert-worker-0")
		sim.tell("rank 0 saves and exits: its peers are not waited for")
		sim.points()
		again(sim)
	}},
	"checkpoint-grows": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.job.Spec.Replicas = new(int32(4))
		sim.job.Generation++
		sim.tell("the user makes the gang larger")
		sim.told()
		sim.saves(255)
		sim.ends(exited(0), "bert-worker-0", "bert-worker-1")
		sim.tell("the ranks save and exit")
		again(sim)
	}},
	"checkpoint-deadline-passes": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.verdict = scheduler.Verdict{Admission: scheduler.Yield, Judged: true, Reason: "Preempted", Message: "to make room for prod"}
		sim.tell("Kueue takes the places back, and waits")
		sim.advance(39 * time.Second)
		sim.tell("one second before the deadline")
		sim.lingers = true
		sim.advance(time.Second)
		sim.tell("the deadline: all ranks are ended")
		sim.ends(checkpoint.Termination{Reason: checkpoint.ExitGraceExceeded, ExitCode: 137, Signal: "SIGKILL"}, "bert-worker-0", "bert-worker-1")
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Preempted"}
		sim.tell("they were killed; rank 0's agent has looked once more")
		sim.points()
	}},
	"checkpoint-peer-fails-while-asked": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		suspend(sim, true)
		sim.tell("the user suspends the job")
		sim.lingers = true
		sim.exit(1, "bert-worker-1")
		sim.tell("a peer fails: rank 0 would wait for it for ever")
	}},
	"checkpoint-operator-dead-meanwhile": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.say("(the operator dies, and with it what was reported)")
		sim.saves(300)
		sim.preempt("bert-worker-0")
		sim.exit(1, "bert-worker-1")
		sim.departed, sim.report = nil, nil
		sim.tell("(the operator is back) rank 0 is gone without a trace")
		sim.say("(the operator dies, and is back)")
		sim.tell("the search goes on")
		sim.finds()
		sim.tell("and ends")
		sim.points()
		sim.advance(10 * time.Second)
		again(sim)
	}},
	"checkpoint-search-fails": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.saves(300)
		goneSilent(sim)
		sim.tell("the pods vanish")
		for range 3 {
			sim.endSearch(1, checkpoint.Termination{Reason: checkpoint.ExitFailed, Problem: "looking at /checkpoints: input/output error"})
			sim.tell("the volume cannot be read")
		}
		sim.points()
		sim.advance(10 * time.Second)
		again(sim)
		sim.reports(201)
		sim.saves(250)
		sim.lingers = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.ends(exited(143), "bert-worker-0", "bert-worker-1")
		sim.tell("the next attempt saves step 250 and is heard, but what the first one saved is still not known")
		sim.finds()
		sim.tell("now the volume can be read: step 300 was there all the time")
		sim.points()
	}},
	"checkpoint-search-never-starts": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		goneSilent(sim)
		sim.tell("the pods vanish")
		sim.advance(5*time.Minute - time.Second)
		sim.tell("the volume is still attached to the dead node")
		sim.advance(time.Second)
		sim.tell("nobody waits any longer")
		sim.points()
		again(sim)
	}},
	"checkpoint-last-word-with-a-problem": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.saves(300)
		sim.volume[len(sim.volume)-1].torn = true // not whole yet when the agent looked for the last time
		word := exited(143)
		word.Problem = "last look: the volume did not answer in time"
		sim.lingers = true
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.ends(word, "bert-worker-0", "bert-worker-1")
		sim.volume[len(sim.volume)-1].torn = false
		sim.tell("the agent of rank 0 could not look for the last time: the volume is searched")
		sim.finds()
		sim.tell("and has more")
		sim.points()
	}},
	"checkpoint-completed-while-drained": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.reports(1000, func(r *checkpoint.Report) { r.Phase = checkpoint.PhaseCompleted })
		suspend(sim, true)
		sim.lingers = true
		sim.tell("the user suspends the job in the moment in which it ends")
		sim.ends(checkpoint.Termination{Reason: checkpoint.ExitCompleted, Phase: checkpoint.PhaseCompleted}, "bert-worker-0", "bert-worker-1")
		sim.tell("rank 0 said that every step is trained")
	}},
	"checkpoint-completed-as-it-is-preempted": {jobtest.New(1, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.lingers = true
		sim.preempt("bert-worker-0")
		sim.ends(checkpoint.Termination{Reason: checkpoint.ExitCompleted, Phase: checkpoint.PhaseCompleted}, "bert-worker-0")
		sim.tell("the only rank is preempted with its last step trained, and says so")
	}},
	"checkpoint-lost": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		s := sim.saves(300)
		sim.reports(300, sim.committed(s))
		sim.converge()
		sim.ends(exited(1), "bert-worker-0")
		sim.tell("rank 0 fails")
		sim.advance(10 * time.Second)
		again(sim)
		sim.volume[len(sim.volume)-1].torn = true
		sim.mayGoBack = true
		goneSilent(sim)
		sim.tell("a disk dies, and with it the checkpoint that the gang resumed from")
		sim.finds()
		sim.tell("the one before it is taken, and the job says so")
		sim.points()
		sim.worked()
	}},
	"checkpoint-cannot-be-loaded": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.lingers = true
		s := sim.saves(300)
		sim.reports(300, sim.committed(s))
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.ends(exited(143), "bert-worker-0", "bert-worker-1")
		sim.tell("preempted; rank 0's last word names step 300")
		again(sim)
		sim.volume[len(sim.volume)-1].torn = true
		sim.mayGoBack = true
		sim.ends(exited(1), "bert-worker-0", "bert-worker-1")
		sim.tell("no rank can load it: the volume is searched before it is tried again")
		sim.finds()
		sim.tell("it is torn since, and passed over")
		sim.points()
		sim.worked()
	}},
	"checkpoint-place-changed": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.lingers = true
		suspend(sim, true)
		sim.tell("the user suspends the job")
		sim.ends(exited(0), "bert-worker-0", "bert-worker-1")
		sim.tell("it is suspended")
		sim.points()
		sim.job.Spec.Checkpoint.PVC.ClaimName = "models"
		sim.mayGoBack, sim.volume = true, nil
		suspend(sim, false)
		sim.tell("and resumes it on another claim: no rank could read what was saved")
		sim.points()
	}},
	"checkpoint-resume-point-ignored": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trains(sim)
		sim.ends(exited(1), "bert-worker-0")
		sim.tell("rank 0 fails")
		sim.advance(10 * time.Second)
		again(sim)
		sim.reports(0)
		sim.tell("the trainer begins at step 0")
		sim.points()
		s := sim.saves(100)
		sim.advance(time.Minute)
		sim.reports(105, sim.committed(s))
		sim.tell("and saves an older step: that is no resume point")
		sim.points()
		sim.ends(exited(1), "bert-worker-0")
		sim.tell("rank 0 fails again")
		sim.advance(20 * time.Second)
		again(sim)
		sim.reports(201)
		sim.tell("now it goes on where it should")
		sim.points()
	}},
	"checkpoint-no-cooperation": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		running(sim)
		sim.ends(exited(1), "bert-worker-1")
		sim.lingers = true
		sim.tell("a trainer that saves nothing and says nothing fails")
		sim.ends(exited(143), "bert-worker-0")
		sim.remove("bert-worker-0")
		sim.tell("its pods are gone")
		sim.points()
		sim.advance(10 * time.Second)
		again(sim)
	}},
	"checkpoint-never-started": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.tell("a job is applied")
		sim.bind()
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.tell("its ranks are preempted before any container started: nothing can have been saved")
		sim.points()
	}},
	"checkpoint-agent-not-configured": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.agent = render.Agent{}
		sim.tell("a job with checkpoints is applied, and the operator has no agent")
		sim.agent = render.Agent{Image: "agent:1"}
		sim.tell("the admin names one")
	}},
	"checkpoint-on-an-object-store": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert"}
	}), func(sim *simulation) {
		running(sim)
		at := sim.now
		sim.reports(205, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, URI: "s3://models/bert/bert-jobuid/attempt-1/step-200", Step: 200, CommittedAt: &at}
		})
		sim.tell("a commit is reported")
		sim.reports(305, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, URI: "s3://models/other/step-300", Step: 300}
		})
		sim.tell("one elsewhere is not believed")
		sim.volume = nil
		goneSilent(sim)
		sim.tell("the pods vanish: nobody but the trainer can look there")
		sim.points()
	}},
}

func TestCheckpointStories(t *testing.T) {
	for name, story := range checkpointStories {
		t.Run(name, func(t *testing.T) { playStory(t, name, story.job, story.tell) })
	}
}
