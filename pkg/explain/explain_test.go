package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var (
	since = metav1.NewTime(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	now   = since.Add(90 * time.Second)
)

func job(edit func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "team-a", Generation: 2}}
	j.Status.ObservedGeneration = 2
	edit(j)
	return j
}

func waiting(b *v1alpha1.Blocker) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Status.Phase, j.Status.Attempt, j.Status.Message = v1alpha1.PhaseQueued, 1, "0/4 ranks run"
		j.Status.Scheduling = &v1alpha1.SchedulingStatus{Scheduler: "volcano", Queue: "research", Blocker: b}
		j.Status.Transitions = []v1alpha1.Transition{{Time: since, Phase: v1alpha1.PhaseQueued}}
	}
}

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestOf(t *testing.T) {
	code := int32(137)
	for name, tc := range map[string]struct {
		reason string
		job    *v1alpha1.TrainingJob
		want   Explanation
	}{
		"hung": {
			"who is waited for, and what the evidence means",
			job(func(j *v1alpha1.TrainingJob) {
				j.Status.Phase, j.Status.Attempt, j.Status.Message = v1alpha1.PhaseRunning, 2, "64/64 ranks run"
				j.Status.Liveness = &v1alpha1.LivenessStatus{
					State: v1alpha1.LivenessHung, Since: &since, Step: new(int64(12401)),
					ObservedTime: new(metav1.NewTime(now)), IdleSeconds: 90,
					LimitSeconds: 900, ReportingRanks: 64, WatchedRanks: 64, Restarts: 1,
					Suspects: []v1alpha1.Suspect{{
						Pod: "bert-worker-17", Node: "a-07", Step: new(int64(12400)), Evidence: v1alpha1.EvidenceBehind,
					}},
				}
			}),
			Explanation{
				Phase: "Running", Attempt: 2, Summary: "64/64 ranks run",
				Liveness: &Liveness{
					State: v1alpha1.LivenessHung, Since: &since.Time, Step: new(int64(12401)),
					Summary:      "no rank makes progress: the others wait for those below",
					LastProgress: &since.Time, LimitSeconds: 900, ReportingRanks: 64, WatchedRanks: 64, Restarts: 1,
					Suspects: []Suspect{{
						Pod: "bert-worker-17", Node: "a-07", Step: new(int64(12400)), Evidence: v1alpha1.EvidenceBehind,
						Meaning: "it has not finished the step that the others have",
					}},
				},
			},
		},
		"quota": {
			"the operator's message and the shortage",
			job(waiting(&v1alpha1.Blocker{
				Reason: v1alpha1.ReasonQuotaExceeded, Object: "queues.scheduling.volcano.sh/research",
				Message: "queue research has 4 of 16 GPUs left, the gang needs 8", NextStep: "wait for a to end",
				Need: amounts("nvidia.com/gpu", "8", "memory", "1Gi"),
				Free: amounts("nvidia.com/gpu", "4", "memory", "3Gi"), ObservedTime: &since,
			})),
			Explanation{
				Phase: "Queued", Since: &since.Time, ForSeconds: 90, Scheduler: "volcano", Queue: "research", Attempt: 1,
				Summary:  "queue research has 4 of 16 GPUs left, the gang needs 8",
				NextStep: "wait for a to end",
				Blocker: &Blocker{
					Reason: "QuotaExceeded", Meaning: "others use the quota",
					Object:  "queues.scheduling.volcano.sh/research",
					Message: "queue research has 4 of 16 GPUs left, the gang needs 8", Observed: &since.Time,
				},
				Arithmetic: []Line{
					{Resource: "memory", Need: "1Gi", Free: "3Gi", Short: "0"},
					{Resource: "nvidia.com/gpu", Need: "8", Free: "4", Short: "4"},
				},
			},
		},
		"free is unknown": {
			"a missing number is not zero",
			job(func(j *v1alpha1.TrainingJob) {
				waiting(&v1alpha1.Blocker{
					Reason: "Custom", Message: "no", Need: amounts("nvidia.com/gpu", "8"),
				})(j)
				j.Status.GPUsUnknown = "ResourceClaimTemplate gpus does not exist"
			}),
			Explanation{
				Phase: "Queued", Since: &since.Time, ForSeconds: 90, Scheduler: "volcano", Queue: "research", Attempt: 1,
				Summary: "no", NextStep: "it starts as soon as the scheduler places it",
				Blocker:    &Blocker{Reason: "Custom", Message: "no"},
				Arithmetic: []Line{{Resource: "nvidia.com/gpu", Need: "8"}},
				Unknown: []string{
					"the free amount of nvidia.com/gpu is unknown",
					"the number of GPUs is unknown: ResourceClaimTemplate gpus does not exist",
				},
			},
		},
		"no blocker": {
			"Unknown reports the missing reason", job(waiting(nil)),
			Explanation{
				Phase: "Queued", Since: &since.Time, ForSeconds: 90, Scheduler: "volcano", Queue: "research", Attempt: 1,
				Summary: "0/4 ranks run", NextStep: "it starts as soon as the scheduler places it",
				Unknown: []string{"the reason is not known yet: the scheduler has reported nothing about the gang"},
			},
		},
		"new": {
			"not processed yet", job(func(j *v1alpha1.TrainingJob) { j.Status.ObservedGeneration = 0 }),
			Explanation{
				Summary:  "the operator has not processed the job yet",
				NextStep: "check that the operator runs and is the leader: kubectl get pods -n trainingjob-system",
				Unknown:  []string{"the operator has not processed the job yet"},
			},
		},
		"edited": {
			"a status of an older spec", job(func(j *v1alpha1.TrainingJob) {
				j.Generation, j.Status.Phase, j.Status.Attempt = 3, v1alpha1.PhaseRunning, 1
				j.Status.Message = "4/4 ranks running"
				j.Status.Progress = &v1alpha1.ProgressStatus{
					Attempt: 1, Step: 12400, TotalSteps: 50000, Percent: new(int32(24)),
					Source: v1alpha1.ProgressFromKubeflow, ReportedTime: since,
				}
			}),
			Explanation{
				Phase: "Running", Attempt: 1, Summary: "4/4 ranks running",
				Progress: &Progress{Step: 12400, TotalSteps: 50000, Percent: new(int32(24)), Source: "Kubeflow"},
				Unknown:  []string{"the operator has not processed the last change of the spec yet"},
			},
		},
		"saving": {
			"a drain that waits for a save", job(func(j *v1alpha1.TrainingJob) {
				j.Status.Phase = v1alpha1.PhaseDraining
				j.Status.Drain = &v1alpha1.DrainStatus{
					Cause: v1alpha1.CauseEviction, Reason: "Evicted", CommandID: "a", Deadline: &since,
				}
			}),
			Explanation{
				Phase: "Draining", Summary: "the attempt is over: the operator stops all its ranks",
				NextStep: "wait until all ranks have stopped",
				Drain:    &Drain{Cause: "Eviction", Reason: "Evicted", Saving: true, Deadline: &since.Time},
			},
		},
		"failed": {
			"the failure outlives its pod", job(func(j *v1alpha1.TrainingJob) {
				j.Status.Phase, j.Status.Attempt, j.Status.Restarts = v1alpha1.PhaseFailed, 4, 3
				j.Status.Message = "backoffLimit 3 is spent"
				j.Status.LastFailure = &v1alpha1.FailureStatus{
					PodName: "bert-worker-0", Attempt: 4, ExitCode: &code, Reason: "OOMKilled", Time: &since,
				}
			}),
			Explanation{
				Phase: "Failed", Attempt: 4, Restarts: 3, Summary: "backoffLimit 3 is spent",
				NextStep: "read why the rank failed; the job does not restart: delete it and apply it again, or " +
					"apply it under another name",
				LastFailure: &Failure{
					PodName: "bert-worker-0", Attempt: 4, ExitCode: &code, Reason: "OOMKilled", Time: &since.Time,
				},
			},
		},
		"held": {
			"a finalizer holds the deletion", job(func(j *v1alpha1.TrainingJob) {
				j.DeletionTimestamp, j.Finalizers = &since, []string{"example.com/keeps"}
				j.Status.Phase, j.Status.Attempt = v1alpha1.PhaseRunning, 1
			}),
			Explanation{
				Phase: "Running", Attempt: 1,
				Summary:  "the job is being deleted: the operator stops its ranks and releases its capacity",
				NextStep: "wait until the finalizers are removed: [example.com/keeps]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Of(tc.job, now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEveryPhase: each phase has a summary.
func TestEveryPhase(t *testing.T) {
	for _, phase := range []v1alpha1.Phase{
		v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning,
		v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded,
		v1alpha1.PhaseFailed,
	} {
		e := Of(job(func(j *v1alpha1.TrainingJob) { j.Status.Phase = phase }), now)
		if e.Summary == "" || e.Summary != phases[phase].means {
			t.Errorf("%s: %q", phase, e.Summary)
		}
	}
}

// TestMeanings: each reason is in the API, and its meaning replaces a missing message.
func TestMeanings(t *testing.T) {
	for reason, meaning := range meanings {
		if !v1alpha1.KnownReason(reason) {
			t.Errorf("%s is no reason of the API", reason)
		}
		e := Of(job(waiting(&v1alpha1.Blocker{Reason: reason})), now)
		if e.Summary != meaning {
			t.Errorf("%s: %q", reason, e.Summary)
		}
	}
}

// TestLivenessSummaries: each state has a sentence, and each kind of evidence a meaning.
func TestLivenessSummaries(t *testing.T) {
	for state, want := range map[v1alpha1.LivenessState]string{
		v1alpha1.LivenessProgressing: "ranks make progress; 3 of 4 ranks report",
		v1alpha1.LivenessSlow:        "ranks make progress, but a step takes much longer than usual for this job",
		v1alpha1.LivenessHung: "no rank makes progress, and nothing tells which one the others wait for; " +
			"3 of 4 ranks report",
		v1alpha1.LivenessUnknown: "it is unknown whether ranks make progress: 3 of 4 ranks report",
	} {
		got := livenessOf(&v1alpha1.LivenessStatus{State: state, ReportingRanks: 3, WatchedRanks: 4})
		if got == nil || got.Summary != want {
			t.Errorf("%s: %+v", state, got)
		}
	}
	if got := livenessOf(&v1alpha1.LivenessStatus{Restarts: 1}); got != nil {
		t.Errorf("no attempt runs: %+v", got)
	}
}
