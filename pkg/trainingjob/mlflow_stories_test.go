package trainingjob

import (
	"math/rand/v2"
	"slices"
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

// MLflow variables of ranks. All ranks of an attempt get the same ones (checkMLflow).
var mlflowStories = map[string]story{
	"mlflow-run-while-it-waits": {jobtest.New(2), func(sim *simulation) {
		sim.mlflow, sim.verdict = "http://mlflow:5000", judged(scheduler.Hold, "Unschedulable", "no capacity")
		sim.narrate("the user applies a job, and it waits")
		sim.setRun(firstRun)
		sim.narrate("the server has created its run")
		sim.setRun(secondRun)
		sim.narrate("this attempt ignores another run")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narrate("capacity is free")
		sim.logMLflow()
	}},
	"mlflow-run-with-the-verdict": {jobtest.New(2), func(sim *simulation) {
		sim.mlflow, sim.verdict = "http://mlflow:5000", judged(scheduler.Hold, "Unschedulable", "no capacity")
		sim.narrate("the user applies a job, and it waits")
		sim.verdict = judged(scheduler.Go, "", "")
		sim.setRun(firstRun)
		sim.narrate("capacity and the run arrive together, and the run is persisted before the ranks are created")
		sim.logMLflow()
	}},
	"mlflow-run-between-two-ranks": {jobtest.New(2), func(sim *simulation) {
		sim.mlflow = "http://mlflow:5000"
		left := 3 // the transition, the group, the first rank
		sim.shouldCrash = func() bool { left--; return left < 0 }
		for range 3 {
			sim.reconcile()
		}
		sim.logf("the operator crashes after it has created %d of 2 ranks", len(sim.pods))
		sim.shouldCrash = func() bool { return false }
		sim.setRun(firstRun)
		sim.narrate("the server creates the run, and the next operator creates the other rank without it")
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
		sim.narrate("the admin configures a server, and the job gets a run; the operator changes nothing")
		sim.exit(1, "bert-worker-1")
		sim.narrate("a rank fails")
		sim.runAfterBackoff()
		sim.logMLflow()
		sim.mlflow = ""
		sim.narrate("the admin removes the configuration; the operator changes nothing")
	}},
}

// setRun sets the run of the job as the server does.
func (sim *simulation) setRun(id string) {
	job := sim.job.DeepCopy()
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations[v1alpha1.AnnotationMLflowRunID] = id
	sim.job = job
}

// randomMLflow changes the run of the job, or the tracking server of the operator.
func (sim *simulation) randomMLflow(rng *rand.Rand) {
	switch rng.IntN(8) {
	case 0:
		sim.mlflow = []string{"", "http://mlflow:5000", "http://other:5000"}[rng.IntN(3)]
	case 1, 2:
		sim.setRun([]string{"", firstRun, secondRun}[rng.IntN(3)])
	}
}

// runAfterBackoff runs the next attempt after its backoff.
func (sim *simulation) runAfterBackoff() {
	sim.removeTerminating()
	sim.converge()
	if t := sim.job.Status.NextAttemptTime; t != nil {
		sim.advance(t.Sub(sim.now))
	}
	sim.narrate("the backoff ends")
	sim.bindAndStart()
	sim.narrate("all ranks are running again")
}

// logMLflow logs the MLflow variables of the ranks.
func (sim *simulation) logMLflow() {
	for _, pod := range sim.pods {
		sim.logf("  %s: %s", pod.Name, mlflowOf(pod))
	}
}

// mlflowOf returns the MLflow variables of a pod's trainer.
func mlflowOf(pod *corev1.Pod) string {
	var env []string
	isTrainer := func(c corev1.Container) bool { return c.Name == trainerIn(pod) }
	for _, e := range pod.Spec.Containers[slices.IndexFunc(pod.Spec.Containers, isTrainer)].Env {
		if name, is := strings.CutPrefix(e.Name, "MLFLOW_"); is {
			env = append(env, name+"="+e.Value)
		}
	}
	return "[" + strings.Join(env, " ") + "]"
}

// checkMLflow checks that a new rank has the MLflow variables of the other ranks of its attempt.
func (sim *simulation) checkMLflow(pod *corev1.Pod) {
	sim.t.Helper()
	for _, other := range sim.pods {
		same := other.Labels[v1alpha1.LabelAttempt] == pod.Labels[v1alpha1.LabelAttempt] &&
			other.Labels[v1alpha1.LabelComponent] == ""
		if same && mlflowOf(other) != mlflowOf(pod) {
			sim.t.Errorf("%s has %s, and %s has %s", pod.Name, mlflowOf(pod), other.Name, mlflowOf(other))
		}
	}
}
