//go:build cluster

package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Every attempt of a trainer saves once after 100 steps, trains 50 more, and then stalls until the test lets
// it finish, so what is saved and what is lost does not depend on timing. It starts late enough for its
// agent's first report to contain no step. The second report, a second later, contains all of them, so the
// operator has no progress to write that it would delay.
const (
	saveSteps, stallSteps, allSteps = 100, 150, 1000
	staller                         = "steps=1000 rate=1000 every=100ms save=50ms start=300ms " +
		"stall-after=150 on-sigterm="
	finishTraining = "steps=1000 rate=100000 every=1h save=0s"
)

// ending is how a trainer reacts to the preemption of its gang, and what follows.
type ending struct {
	onSIGTERM simtrainer.OnSIGTERM
	// resume is the step from which attempt 2 resumes; lost counts the steps that are trained again.
	resume, lost int64
	retain       v1alpha1.RetainPolicy
}

var (
	// dies loses what it trained since its checkpoint.
	dies = ending{onSIGTERM: simtrainer.Die, resume: saveSteps, lost: stallSteps - saveSteps,
		retain: v1alpha1.RetainClaim}
	// savesUnreported saves everything without a report, so only a search of the volume finds it.
	savesUnreported = ending{onSIGTERM: simtrainer.SaveUnheard, resume: stallSteps, retain: v1alpha1.DeleteClaim}
)

// resumeCycle is cycle with checkpoints, played to the end: victim trains and is preempted by winner; its
// next attempt resumes from the newest complete checkpoint, succeeds, and leaves nothing but the volume
// claim, if the claim is retained.
func resumeCycle(victim, winner jobSpec, end ending) []Step {
	victim.trainer, victim.retain = staller+string(end.onSIGTERM), end.retain
	low, high := victim.name, winner.name
	return []Step{
		submit(victim),
		until(low, runsWhole(victim.ranks), attempt(1), saved(saveSteps), trained(1, stallSteps)),
		submit(winner),
		until(high, runsWhole(winner.ranks)),
		until(low, is(v1alpha1.PhaseQueued), attempt(2), holds(0),
			condition(v1alpha1.ConditionPreempted, "True"), pinned(end.resume)),
		judged(low),
		neverBound(low),
		now(low, waits(), holds(0), spent(0, 1)),
		complete(high),
		until(high, is(v1alpha1.PhaseSucceeded), holds(0), hasNoGroup()),
		until(low, runsWhole(victim.ranks), attempt(2), condition(v1alpha1.ConditionPreempted, "False"),
			saved(end.resume+saveSteps)),
		trainOn(low),
		until(low, is(v1alpha1.PhaseSucceeded), attempt(2), holds(0), hasNoGroup(), searchIsOver()),
		now(low, spent(0, 1), neverFailed(), passed(v1alpha1.PhaseDraining), saved(allSteps), trained(2, allSteps)),
		now(high, attempt(1), spent(0, 0), neverFailed()),
		resumed(low, victim.ranks, end),
		remove(low),
		nothingLeft(low),
		claimIs(low, end.retain),
	}
}

// saved expects the checkpoint of a step as the latest in the status.
func saved(step int64) Expectation {
	return ofStatus(fmt.Sprintf("has saved step %d", step), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Checkpoint == nil || st.Checkpoint.Latest == nil {
			return "the status has no checkpoint"
		}
		return differs("the step of its latest checkpoint", st.Checkpoint.Latest.Step, step)
	})
}

func trained(attempt int32, step int64) Expectation {
	return ofStatus(fmt.Sprintf("has trained step %d in attempt %d", step, attempt),
		func(st *v1alpha1.TrainingJobStatus) string {
			if st.Progress == nil {
				return "the status has no progress"
			}
			return differs("the progress", fmt.Sprintf("step %d of attempt %d", st.Progress.Step,
				st.Progress.Attempt), fmt.Sprintf("step %d of attempt %d", step, attempt))
		})
}

func pinned(step int64) Expectation {
	return ofStatus(fmt.Sprintf("is to resume from step %d", step), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Checkpoint == nil || st.Checkpoint.ResumeFrom == nil {
			return "the status has no resume point"
		}
		return differs("the step that it resumes from", st.Checkpoint.ResumeFrom.Step, step)
	})
}

func searchIsOver() Expectation {
	return Expectation{"has no pod that searches", func(_ *Env, v *view, name string) string {
		return differs("the number of pods that search", len(v.resolversOf(name)), 0)
	}}
}

// trainOn makes the stalled trainers finish.
func trainOn(name string) Step {
	return Step{"the trainers of " + name + " go on", func(ctx context.Context, e *Env) error {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		for _, p := range v.podsOf(name) {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, localcluster.AnnotationTrainer,
				finishTraining)
			if err := e.cluster.client.Patch(ctx, p, client.RawPatch("application/merge-patch+json",
				[]byte(patch))); err != nil {
				return err
			}
		}
		return nil
	}}
}

// resumed checks that the given resume point, the trainers' steps, the volume and the counters agree. It
// records the state of the job, which is about to be deleted.
func resumed(name string, ranks int32, end ending) Step {
	return Step{fmt.Sprintf("%s has resumed from step %d", name, end.resume),
		func(ctx context.Context, e *Env) error {
			if err := e.untilNoService(ctx, name); err != nil {
				return err
			}
			v, err := e.look(ctx)
			if err != nil {
				return err
			}
			job := v.jobs[name]
			volume, err := simtrainer.OpenStateFile(e.cluster.volume)
			if err != nil {
				return err
			}
			claim := spec.ClaimName(job)
			newest, _ := volume.Newest(simtrainer.Location{Namespace: e.namespace, URI: "pvc://" + claim,
				JobUID: string(job.UID)}, simtrainer.OfAttempt(1))
			if newest == nil {
				return errors.New("attempt 1 left no complete checkpoint")
			}
			given := map[int32]map[string]bool{1: {}, 2: {}}
			names := map[int32]map[string]bool{1: {}, 2: {}}
			for _, entry := range e.recorder.soFar() {
				if p, ok := entry.Object.(*corev1.Pod); ok && JobOf(p) == job.UID && !render.IsResolver(p) {
					from, _ := ResumeOf(p)
					given[AttemptOf(p)][from] = true
					names[AttemptOf(p)][p.Name] = true
				}
			}
			from := "/checkpoints/" + newest.Path
			wrong := []string{
				differs("the step of the newest complete checkpoint of attempt 1", newest.Step, end.resume),
				differs("what the ranks of attempt 1 were given",
					strings.Join(slices.Sorted(maps.Keys(given[1])), " and "), ""),
				differs("what the ranks of attempt 2 were given",
					strings.Join(slices.Sorted(maps.Keys(given[2])), " and "), from),
				differs("the persisted resume point", ResumePath(job), from),
				differs("the number of ranks of attempt 2", len(names[2]), int(ranks)),
				differs("the first steps of attempt 1", fmt.Sprint(e.operator.proxy.firstSteps(1)), "[1]"),
				differs("the first steps of attempt 2", fmt.Sprint(e.operator.proxy.firstSteps(2)),
					fmt.Sprint([]int64{end.resume + 1})),
				differs("ResumeIgnored", meta.IsStatusConditionTrue(job.Status.Conditions,
					v1alpha1.ConditionResumeIgnored), false),
				differs("CheckpointUnknown", meta.IsStatusConditionTrue(job.Status.Conditions,
					v1alpha1.ConditionCheckpointUnknown), false),
			}
			wrong = append(wrong, workOf(job, end.lost)...)
			wrong = slices.DeleteFunc(wrong, func(s string) bool { return s == "" })
			if len(wrong) > 0 {
				return errors.New(strings.Join(wrong, "; "))
			}
			e.noted = append(e.noted, fmt.Sprintf("%s; resumed from %s in %d ranks, first step %d; %d "+
				"interruption, %d resumption, %d steps lost",
				stateOf(v, job), newest.Path, len(names[2]), end.resume+1,
				job.Status.Work.Interruptions, job.Status.Work.Resumptions, job.Status.Work.LostSteps))
			return nil
		}}
}

// workOf checks that the job's work was counted exactly once. Times vary from run to run; the expected ones
// follow from the transitions, whose times are the operator's own.
func workOf(job *v1alpha1.TrainingJob, lostSteps int64) []string {
	w := job.Status.Work
	if w == nil {
		return []string{"the status has no work"}
	}
	last := map[v1alpha1.Phase]time.Time{}
	var queued, running, resuming, lost int64
	seconds := func(from, to time.Time) int64 { return max(0, int64(to.Sub(from)/time.Second)) }
	from := v1alpha1.Phase("")
	for _, t := range job.Status.Transitions {
		if t.Phase == v1alpha1.PhaseRunning {
			queued += seconds(last[v1alpha1.PhaseQueued], t.Time.Time)
			if at, drained := last[v1alpha1.PhaseDraining]; drained {
				resuming += seconds(at, t.Time.Time)
			}
		}
		if from == v1alpha1.PhaseRunning {
			running += seconds(last[v1alpha1.PhaseRunning], t.Time.Time)
		}
		if t.Phase == v1alpha1.PhaseDraining {
			safe := last[v1alpha1.PhaseRunning]
			if c := job.Status.Checkpoint.ResumeFrom.Time; c != nil && c.After(safe) {
				safe = c.Time
			}
			lost += max(seconds(safe, t.Time.Time), min(lostSteps, 1)) // lost steps cost at least a second
		}
		last[t.Phase], from = t.Time.Time, t.Phase
	}
	goodput := int32(-1)
	if w.Goodput != nil {
		goodput = *w.Goodput
	}
	gpus := job.Status.GPUs
	return []string{
		differs("interruptions", w.Interruptions, 1),
		differs("resumptions", w.Resumptions, 1),
		differs("lostSteps", w.LostSteps, lostSteps),
		differs("queuedSeconds", w.QueuedSeconds, queued),
		differs("runningSeconds", w.RunningSeconds, running),
		differs("resumeSeconds", w.ResumeSeconds, resuming),
		differs("lostSeconds", w.LostSeconds, lost),
		within("lostGPUSeconds", w.LostGPUSeconds, lost*gpus, (lost+1)*gpus),
		within("goodput", goodput, 0, 100),
	}
}

func within[T cmp.Ordered](what string, got, least, most T) string {
	if least <= got && got <= most {
		return ""
	}
	return fmt.Sprintf("%s is %v, not from %v to %v", what, got, least, most)
}

// claimIs retained or deleted, as the job asks.
func claimIs(name string, retain v1alpha1.RetainPolicy) Step {
	return Step{fmt.Sprintf("what is asked for the claim of %s: %s", name, retain),
		func(ctx context.Context, e *Env) error {
			claim := &metav1.PartialObjectMetadata{}
			claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
			key := client.ObjectKey{Namespace: e.namespace, Name: name + "-checkpoints"}
			if retain == v1alpha1.DeleteClaim {
				return poll(ctx, func(ctx context.Context) (string, error) {
					err := e.cluster.client.Get(ctx, key, claim)
					if apierrors.IsNotFound(err) {
						return "", nil
					}
					return "the claim exists", err
				})
			}
			// The garbage collector has removed the job's Service, which is younger, so it would have removed
			// the claim by now.
			if err := e.cluster.client.Get(ctx, key, claim); err != nil {
				return err
			}
			if claim.DeletionTimestamp != nil || len(claim.OwnerReferences) > 0 {
				return fmt.Errorf("the claim goes with the job: owners %v", claim.OwnerReferences)
			}
			return nil
		}}
}
