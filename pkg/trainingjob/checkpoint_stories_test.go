package trainingjob

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// trains brings a gang to step 250, with a checkpoint at step 200 that was reported.
func trains(w *world) {
	running(w)
	w.reports(10)
	w.converge()
	w.advance(2 * time.Minute)
	s := w.saves(200)
	w.reports(205, w.committed(s))
	w.tell("the checkpoint of step 200 is reported at once")
	w.advance(30 * time.Second)
	w.reports(250)
	w.tell("and then progress")
	w.points()
}

// goneSilent: the node of every rank dies, and somebody removes the pods.
func goneSilent(w *world) {
	for _, name := range w.names() {
		w.remove(name)
	}
	w.departed = nil
}

func again(w *world) {
	w.lingers = false
	for _, pod := range slices.Clone(w.pods) {
		if pod.DeletionTimestamp != nil {
			w.remove(pod.Name)
		}
	}
	w.converge() // what waited for them, or for a backoff
	w.up()
	w.tell("all ranks run again")
	w.points()
}

// exited is the last word of a trainer that saved and left, or was killed.
func exited(code int32) checkpoint.Termination {
	return checkpoint.Termination{Reason: checkpoint.ExitExited, ExitCode: code, Phase: checkpoint.PhaseTraining}
}

var checkpointStories = map[string]struct {
	job  *v1alpha1.TrainingJob
	tell func(*world)
}{
	"checkpoint-preempted-after-a-commit": {newJob(3, withCheckpoints), func(w *world) {
		trains(w)
		w.lingers = true
		w.preempt("bert-worker-0", "bert-worker-1")
		w.tell("two of three ranks are preempted")
		w.ends(exited(143), "bert-worker-0")
		w.tell("rank 0's last word is heard before its pod is gone")
		for _, name := range w.names() {
			w.remove(name)
		}
		w.tell("the grace is over")
		w.points()
		again(w)
		w.reports(201)
		w.advance(time.Minute)
		w.tell("it goes on at step 201")
		w.points()
	}},
	"checkpoint-what-was-lost": {newJob(2, withCheckpoints), func(w *world) {
		w.job.CreationTimestamp = metav1.NewTime(w.now.Add(-time.Minute))
		trains(w)
		w.worked()
		w.lingers = true
		w.preempt("bert-worker-0", "bert-worker-1")
		w.tell("preempted 30 s and 50 steps after the last commit")
		w.advance(10 * time.Second)
		w.ends(exited(143), "bert-worker-0", "bert-worker-1")
		w.verdict = scheduler.Verdict{Admission: scheduler.Hold}
		w.tell("the ranks' grace does not count as lost")
		w.worked()
		w.advance(5 * time.Minute)
		w.verdict = scheduler.Verdict{Admission: scheduler.Go}
		w.tell("there is room again")
		again(w)
		w.worked()
		w.advance(4 * time.Minute)
		w.reports(500)
		w.tell("it trains for 4 minutes and saves nothing")
		w.lingers = true
		suspend(w, true)
		w.tell("the user suspends the job")
		s := w.saves(501)
		w.reports(501, w.committed(s), func(r *checkpoint.Report) { r.CommandID = "drain-2" })
		w.advance(8 * time.Second)
		w.tell("the trainer saves first: nothing is lost")
		w.ends(exited(0), "bert-worker-0", "bert-worker-1")
		w.tell("the ranks are gone")
		w.worked()
		suspend(w, false)
		w.tell("the user resumes the job")
		again(w)
		w.advance(time.Minute)
		w.ends(checkpoint.Termination{Reason: checkpoint.ExitCompleted, Phase: checkpoint.PhaseCompleted}, "bert-worker-0", "bert-worker-1")
		w.tell("and it ends")
		w.worked()
	}},
	"checkpoint-steps-lost-within-a-second": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		s := w.saves(300)
		w.reports(303, w.committed(s))
		w.tell("3 steps beyond the last commit, in the same second")
		w.lingers = true
		w.preempt("bert-worker-0", "bert-worker-1")
		w.ends(exited(143), "bert-worker-0", "bert-worker-1")
		w.tell("the gang is preempted: steps that are lost cost a second")
		w.worked()
	}},
	"work-without-checkpoints": {newJob(2), func(w *world) {
		w.job.CreationTimestamp = metav1.NewTime(w.now)
		running(w)
		w.advance(10 * time.Minute)
		w.exit(1, "bert-worker-1")
		w.tell("a rank fails after ten minutes")
		w.worked()
	}},
	"checkpoint-saved-at-sigterm": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.lingers = true
		w.preempt("bert-worker-0", "bert-worker-1")
		w.say("both ranks get SIGTERM, save, and exit 0 before the operator looks")
		w.saves(260)
		w.ends(exited(0), "bert-worker-0", "bert-worker-1")
		w.tell("that is no success: nobody said that every step is trained")
		w.points()
		again(w)
	}},
	"checkpoint-node-lost-after-a-stale-report": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.saves(300)
		goneSilent(w)
		w.tell("the node dies before the checkpoint of step 300 is reported; the pods vanish")
		w.points()
		w.bind("bert-resolve")
		w.finds()
		w.tell("the search of the volume ends")
		w.points()
		w.advance(10 * time.Second)
		again(w)
	}},
	"checkpoint-torn-newest": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.saves(300)
		s := w.saves(400)
		w.reports(405, w.committed(s))
		w.tell("step 400 was complete when it was reported")
		w.volume[len(w.volume)-1].torn = true
		goneSilent(w)
		w.tell("the node dies, and with it what was not synced")
		w.finds()
		w.tell("the search passes over step 400")
		w.points()
		again(w)
	}},
	"checkpoint-suspend-asks-first": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.told()
		suspend(w, true)
		w.tell("the user suspends the job: no pod is touched yet")
		w.told()
		s := w.saves(251)
		w.reports(251, w.committed(s), func(r *checkpoint.Report) { r.CommandID, r.DeliveredID = "drain-1", "drain-1" })
		w.lingers = true
		w.tell("the trainer has carried it out: the ranks are ended")
		w.ends(exited(0), "bert-worker-0", "bert-worker-1")
		w.tell("they are gone")
		w.points()
		w.lingers = false
		w.told()
		suspend(w, false)
		w.tell("the user resumes the job")
		again(w)
	}},
	"checkpoint-resize-asks-first": {newJob(4, withCheckpoints), func(w *world) {
		trains(w)
		w.job.Spec.Replicas = ptr[int32](2)
		w.job.Generation++
		w.tell("the user makes the gang smaller")
		w.told()
		w.saves(255)
		w.ends(exited(0), "bert-worker-0")
		w.tell("rank 0 saves and exits: its peers are not waited for")
		w.points()
		again(w)
	}},
	"checkpoint-grows": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.job.Spec.Replicas = ptr[int32](4)
		w.job.Generation++
		w.tell("the user makes the gang larger")
		w.told()
		w.saves(255)
		w.ends(exited(0), "bert-worker-0", "bert-worker-1")
		w.tell("the ranks save and exit")
		again(w)
	}},
	"checkpoint-deadline-passes": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.verdict = scheduler.Verdict{Admission: scheduler.Yield, Judged: true, Reason: "Preempted", Message: "to make room for prod"}
		w.tell("Kueue takes the places back, and waits")
		w.advance(39 * time.Second)
		w.tell("one second before the deadline")
		w.lingers = true
		w.advance(time.Second)
		w.tell("the deadline: all ranks are ended")
		w.ends(checkpoint.Termination{Reason: checkpoint.ExitGraceExceeded, ExitCode: 137, Signal: "SIGKILL"}, "bert-worker-0", "bert-worker-1")
		w.verdict = scheduler.Verdict{Admission: scheduler.Hold, Judged: true, Reason: "Preempted"}
		w.tell("they were killed; rank 0's agent has looked once more")
		w.points()
	}},
	"checkpoint-peer-fails-while-asked": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		suspend(w, true)
		w.tell("the user suspends the job")
		w.lingers = true
		w.exit(1, "bert-worker-1")
		w.tell("a peer fails: rank 0 would wait for it for ever")
	}},
	"checkpoint-operator-dead-meanwhile": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.say("(the operator dies, and with it what was reported)")
		w.saves(300)
		w.preempt("bert-worker-0")
		w.exit(1, "bert-worker-1")
		w.departed, w.report = nil, nil
		w.tell("(the operator is back) rank 0 is gone without a trace")
		w.say("(the operator dies, and is back)")
		w.tell("the search goes on")
		w.finds()
		w.tell("and ends")
		w.points()
		w.advance(10 * time.Second)
		again(w)
	}},
	"checkpoint-search-fails": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.saves(300)
		goneSilent(w)
		w.tell("the pods vanish")
		for range 3 {
			w.endSearch(1, checkpoint.Termination{Reason: checkpoint.ExitFailed, Problem: "looking at /checkpoints: input/output error"})
			w.tell("the volume cannot be read")
		}
		w.points()
		w.advance(10 * time.Second)
		again(w)
		w.reports(201)
		w.saves(250)
		w.lingers = true
		w.preempt("bert-worker-0", "bert-worker-1")
		w.ends(exited(143), "bert-worker-0", "bert-worker-1")
		w.tell("the next attempt saves step 250 and is heard, but what the first one saved is still not known")
		w.finds()
		w.tell("now the volume can be read: step 300 was there all the time")
		w.points()
	}},
	"checkpoint-search-never-starts": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		goneSilent(w)
		w.tell("the pods vanish")
		w.advance(5*time.Minute - time.Second)
		w.tell("the volume is still attached to the dead node")
		w.advance(time.Second)
		w.tell("nobody waits any longer")
		w.points()
		again(w)
	}},
	"checkpoint-last-word-with-a-problem": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.saves(300)
		w.volume[len(w.volume)-1].torn = true // not whole yet when the agent looked for the last time
		word := exited(143)
		word.Problem = "last look: the volume did not answer in time"
		w.lingers = true
		w.preempt("bert-worker-0", "bert-worker-1")
		w.ends(word, "bert-worker-0", "bert-worker-1")
		w.volume[len(w.volume)-1].torn = false
		w.tell("the agent of rank 0 could not look for the last time: the volume is searched")
		w.finds()
		w.tell("and has more")
		w.points()
	}},
	"checkpoint-completed-while-drained": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.reports(1000, func(r *checkpoint.Report) { r.Phase = checkpoint.PhaseCompleted })
		suspend(w, true)
		w.lingers = true
		w.tell("the user suspends the job in the moment in which it ends")
		w.ends(checkpoint.Termination{Reason: checkpoint.ExitCompleted, Phase: checkpoint.PhaseCompleted}, "bert-worker-0", "bert-worker-1")
		w.tell("rank 0 said that every step is trained")
	}},
	"checkpoint-completed-as-it-is-preempted": {newJob(1, withCheckpoints), func(w *world) {
		trains(w)
		w.lingers = true
		w.preempt("bert-worker-0")
		w.ends(checkpoint.Termination{Reason: checkpoint.ExitCompleted, Phase: checkpoint.PhaseCompleted}, "bert-worker-0")
		w.tell("the only rank is preempted with its last step trained, and says so")
	}},
	"checkpoint-lost": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		s := w.saves(300)
		w.reports(300, w.committed(s))
		w.converge()
		w.ends(exited(1), "bert-worker-0")
		w.tell("rank 0 fails")
		w.advance(10 * time.Second)
		again(w)
		w.volume[len(w.volume)-1].torn = true
		w.mayGoBack = true
		goneSilent(w)
		w.tell("a disk dies, and with it the checkpoint that the gang resumed from")
		w.finds()
		w.tell("the one before it is taken, and the job says so")
		w.points()
		w.worked()
	}},
	"checkpoint-cannot-be-loaded": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.lingers = true
		s := w.saves(300)
		w.reports(300, w.committed(s))
		w.preempt("bert-worker-0", "bert-worker-1")
		w.ends(exited(143), "bert-worker-0", "bert-worker-1")
		w.tell("preempted; rank 0's last word names step 300")
		again(w)
		w.volume[len(w.volume)-1].torn = true
		w.mayGoBack = true
		w.ends(exited(1), "bert-worker-0", "bert-worker-1")
		w.tell("no rank can load it: the volume is searched before it is tried again")
		w.finds()
		w.tell("it is torn since, and passed over")
		w.points()
		w.worked()
	}},
	"checkpoint-place-changed": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.lingers = true
		suspend(w, true)
		w.tell("the user suspends the job")
		w.ends(exited(0), "bert-worker-0", "bert-worker-1")
		w.tell("it is suspended")
		w.points()
		w.job.Spec.Checkpoint.PVC.ClaimName = "models"
		w.mayGoBack, w.volume = true, nil
		suspend(w, false)
		w.tell("and resumes it on another claim: no rank could read what was saved")
		w.points()
	}},
	"checkpoint-resume-point-ignored": {newJob(2, withCheckpoints), func(w *world) {
		trains(w)
		w.ends(exited(1), "bert-worker-0")
		w.tell("rank 0 fails")
		w.advance(10 * time.Second)
		again(w)
		w.reports(0)
		w.tell("the trainer begins at step 0")
		w.points()
		s := w.saves(100)
		w.advance(time.Minute)
		w.reports(105, w.committed(s))
		w.tell("and saves an older step: that is no resume point")
		w.points()
		w.ends(exited(1), "bert-worker-0")
		w.tell("rank 0 fails again")
		w.advance(20 * time.Second)
		again(w)
		w.reports(201)
		w.tell("now it goes on where it should")
		w.points()
	}},
	"checkpoint-no-cooperation": {newJob(2, withCheckpoints), func(w *world) {
		running(w)
		w.ends(exited(1), "bert-worker-1")
		w.lingers = true
		w.tell("a trainer that saves nothing and says nothing fails")
		w.ends(exited(143), "bert-worker-0")
		w.remove("bert-worker-0")
		w.tell("its pods are gone")
		w.points()
		w.advance(10 * time.Second)
		again(w)
	}},
	"checkpoint-never-started": {newJob(2, withCheckpoints), func(w *world) {
		w.tell("a job is applied")
		w.bind()
		w.preempt("bert-worker-0", "bert-worker-1")
		w.tell("its ranks are preempted before any container started: nothing can have been saved")
		w.points()
	}},
	"checkpoint-agent-not-configured": {newJob(2, withCheckpoints), func(w *world) {
		w.agent = Agent{}
		w.tell("a job with checkpoints is applied, and the operator has no agent")
		w.agent = Agent{Image: "agent:1"}
		w.tell("the admin names one")
	}},
	"checkpoint-on-an-object-store": {newJob(2, func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert"}
	}), func(w *world) {
		running(w)
		at := w.now
		w.reports(205, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, URI: "s3://models/bert/bert-jobuid/attempt-1/step-200", Step: 200, CommittedAt: &at}
		})
		w.tell("a commit is reported")
		w.reports(305, func(r *checkpoint.Report) {
			r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, URI: "s3://models/other/step-300", Step: 300}
		})
		w.tell("one elsewhere is not believed")
		w.volume = nil
		goneSilent(w)
		w.tell("the pods vanish: nobody but the trainer can look there")
		w.points()
	}},
}

func TestCheckpointStories(t *testing.T) {
	for name, story := range checkpointStories {
		t.Run(name, func(t *testing.T) { playStory(t, name, story.job, story.tell) })
	}
}
