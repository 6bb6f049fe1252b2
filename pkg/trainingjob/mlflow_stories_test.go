package trainingjob

import (
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	firstRun  = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
	secondRun = "ffffffffffffffffffffffffffffffff"
)

// What ranks are told of MLflow. All ranks of an attempt are told the same (checkMLflow).
var mlflowStories = map[string]story{
	"mlflow-run-while-it-waits": {jobtest.New(2), func(sim *simulation) {
		sim.mlflow, sim.verdict = "http://mlflow:5000", judged(scheduler.Hold, "Unschedulable", "no room")
		sim.narrate("a job is applied and waits")
		sim.setRun(firstRun)
		sim.narrate("the server has made its run")
		sim.setRun(secondRun)
		sim.narrate("another one is of no interest to this attempt")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("room comes")
		sim.logMLflow()
	}},
	"mlflow-run-with-the-verdict": {jobtest.New(2), func(sim *simulation) {
		sim.mlflow, sim.verdict = "http://mlflow:5000", judged(scheduler.Hold, "Unschedulable", "no room")
		sim.narrate("a job is applied and waits")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.setRun(firstRun)
		sim.narrate("room and the run come at once: the run is written down before a rank is created")
		sim.logMLflow()
	}},
	"mlflow-run-between-two-ranks": {jobtest.New(2), func(sim *simulation) {
		sim.mlflow = "http://mlflow:5000"
		left := 3 // the transition, the group, the first rank
		sim.crashesNow = func() bool { left--; return left < 0 }
		for range 3 {
			sim.reconcile()
		}
		sim.logf("the operator ends when it has created %d of 2 ranks", len(sim.pods))
		sim.crashesNow = func() bool { return false }
		sim.setRun(firstRun)
		sim.narrate("the server makes the run, and the next operator the other rank, without it")
		sim.logMLflow()
		sim.bindAndStart()
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank fails")
		sim.runAfterBackoff()
		sim.logMLflow()
	}},
	"mlflow-configured-while-it-runs": {jobtest.New(2, func(j *v1alpha1.TrainingJob) {
		j.Annotations = map[string]string{v1alpha1.AnnotationMLflowExperiment: "bert/base"}
	}), func(sim *simulation) {
		runGang(sim)
		sim.logMLflow()
		sim.mlflow = "http://mlflow:5000"
		sim.setRun(firstRun)
		sim.narrate("the operator is configured with a server, and the job has a run: nothing happens")
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank fails")
		sim.runAfterBackoff()
		sim.logMLflow()
		sim.mlflow = ""
		sim.narrate("the configuration is taken back: nothing happens")
	}},
}

// setRun is what the server does when it has made the job's run.
func (sim *simulation) setRun(id string) {
	job := sim.job.DeepCopy()
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations[v1alpha1.AnnotationMLflowRunID] = id
	sim.job = job
}

// randomMLflow lets the server make or change the job's run, and the admin configure another tracking server.
func (sim *simulation) randomMLflow(rng *rand.Rand) {
	switch rng.IntN(8) {
	case 0:
		sim.mlflow = []string{"", "http://mlflow:5000", "http://other:5000"}[rng.IntN(3)]
	case 1, 2:
		sim.setRun([]string{"", firstRun, secondRun}[rng.IntN(3)])
	}
}

// runAfterBackoff lets the next attempt run.
func (sim *simulation) runAfterBackoff() {
	sim.removeTerminating()
	sim.converge()
	if t := sim.job.Status.NextAttemptTime; t != nil {
		sim.advance(t.Sub(sim.now))
	}
	sim.narrate("the backoff is over")
	sim.bindAndStart()
	sim.narrate("all ranks run again")
}

// logMLflow logs what the ranks are told.
func (sim *simulation) logMLflow() {
	for _, pod := range sim.pods {
		sim.logf("  %s: %s", pod.Name, mlflowOf(pod))
	}
}

// mlflowOf is what a pod's trainer is told of MLflow.
func mlflowOf(pod *corev1.Pod) string {
	var told []string
	for _, e := range pod.Spec.Containers[0].Env {
		if name, is := strings.CutPrefix(e.Name, "MLFLOW_"); is {
			told = append(told, name+"="+e.Value)
		}
	}
	return "[" + strings.Join(told, " ") + "]"
}

// checkMLflow checks that a new rank is told what the others of its attempt are.
func (sim *simulation) checkMLflow(pod *corev1.Pod) {
	sim.t.Helper()
	for _, other := range sim.pods {
		same := other.Labels[v1alpha1.LabelAttempt] == pod.Labels[v1alpha1.LabelAttempt] &&
			other.Labels[v1alpha1.LabelComponent] == ""
		if same && mlflowOf(other) != mlflowOf(pod) {
			sim.t.Errorf("%s is told %s, and %s %s", pod.Name, mlflowOf(pod), other.Name, mlflowOf(other))
		}
	}
}
