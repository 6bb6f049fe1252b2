package jobview

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// epoch is the creation time of all jobs.
var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// scenario is the history of a job, version by version.
type scenario struct {
	job     *v1alpha1.TrainingJob
	record  history.Record
	now     time.Time
	version int
	seen    bool // whether the history records events
	options history.Options
}

// newScenario of a job with 8 GPUs per rank.
func newScenario(name string, ranks int32) *scenario {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team-a", UID: "6f7c1a52", CreationTimestamp: metav1.NewTime(epoch),
			Annotations: map[string]string{"owner": "ada@example.com"},
		},
		Spec: v1alpha1.TrainingJobSpec{Framework: v1alpha1.FrameworkPyTorch, Replicas: &ranks},
	}
	job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerVolcano
	job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "batch-low"
	job.Status.Scheduling = &v1alpha1.SchedulingStatus{
		Scheduler: v1alpha1.SchedulerVolcano, Queue: "research",
	}
	job.Status.Replicas, job.Status.GPUs = ranks, int64(ranks)*8
	return &scenario{job: job, now: epoch, seen: true, options: history.Options{
		UserKeys: []string{"owner"},
		GPUKind:  func(*v1alpha1.TrainingJob) string { return "NVIDIA-H100" },
	}}
}

// after applies a change after a time.
func (t *scenario) after(minutes float64, change func(*v1alpha1.TrainingJobStatus)) *scenario {
	t.now = t.now.Add(time.Duration(minutes * float64(time.Minute)))
	change(&t.job.Status)
	t.version++
	t.job.ResourceVersion = fmt.Sprint(100 + t.version)
	if t.seen {
		t.record = history.Merge(t.record, history.Of("lab", t.job, t.options))
	}
	return t
}

// enter a phase.
func (t *scenario) enter(minutes float64, phase v1alpha1.Phase, reason string) *scenario {
	return t.after(minutes, func(st *v1alpha1.TrainingJobStatus) {
		st.Phase = phase
		st.Transitions = append(slices.Clone(st.Transitions), v1alpha1.Transition{
			Time: metav1.NewTime(t.now), Phase: phase, Reason: reason,
		})
		if phase == v1alpha1.PhaseQueued && st.Attempt == 0 {
			st.Attempt = 1
		}
	})
}

// runs after it was queued and started.
func (t *scenario) runs(queued, starting float64) *scenario {
	t.enter(queued, v1alpha1.PhaseStarting, v1alpha1.ReasonPlaced)
	t.enter(starting, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning)
	return t.after(0, func(st *v1alpha1.TrainingJobStatus) {
		if st.StartTime == nil {
			st.StartTime = new(metav1.NewTime(t.now))
		}
		if st.Work == nil {
			st.Work = &v1alpha1.WorkStatus{}
		}
		st.Workers = nil
		for i := range st.Replicas {
			st.Workers = append(st.Workers, v1alpha1.WorkerStatus{
				Role: v1alpha1.RoleWorker, Index: i, PodName: fmt.Sprintf("%s-worker-%d", t.job.Name, i),
				Phase: "Running", Node: fmt.Sprintf("gpu-%02d", i+1), StartTime: new(metav1.NewTime(t.now)),
			})
		}
		st.ReadyReplicas = st.Replicas
		st.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{
			v1alpha1.RoleWorker: {Replicas: st.Replicas, Active: st.Replicas, Ready: st.Replicas},
		}
	})
}

// trains from a step to another, with a report per minute.
func (t *scenario) trains(from, to, total int64) *scenario {
	const perMinute = 100
	for step := from + perMinute; step <= to; step += perMinute {
		t.after(1, func(st *v1alpha1.TrainingJobStatus) {
			x := float64(step)
			wave := 0.05 * math.Sin(x/130)
			st.Progress = &v1alpha1.ProgressStatus{
				Attempt: st.Attempt, Step: step, TotalSteps: total, Percent: new(int32(100 * step / total)),
				Epoch: fmt.Sprintf("%.2f", x/1000), TotalEpochs: fmt.Sprint(total / 1000),
				Metrics: map[string]string{
					"loss":               fmt.Sprintf("%.4f", 0.4+4*math.Exp(-x/900)+wave),
					"eval_loss":          fmt.Sprintf("%.4f", 0.55+4*math.Exp(-x/1000)),
					"tokens_per_second":  fmt.Sprintf("%.0f", 41000+2500*math.Sin(x/700)),
					"learning_rate":      fmt.Sprintf("%g", 3e-4*(1-x/float64(total+1))),
					"which_shard_is_now": fmt.Sprintf("shard-%d", step%7),
				},
				ReportedTime: metav1.NewTime(t.now),
			}
			if t.job.Status.Phase == v1alpha1.PhaseRunning {
				left := time.Duration(total-step) * time.Minute / perMinute
				st.Progress.EstimatedCompletionTime = new(metav1.NewTime(t.now.Add(left)))
			}
			if step%500 == 0 {
				st.Checkpoint = copyOf(st.Checkpoint)
				st.Checkpoint.Latest = &v1alpha1.CheckpointPoint{
					URI: fmt.Sprintf("pvc://ckpt/%s/step-%d", t.job.Name, step), Step: step,
					Time: new(metav1.NewTime(t.now)),
				}
				st.Checkpoint.SaveSeconds = 21
			}
		})
	}
	return t
}

// copyOf a status: recorded versions do not change.
func copyOf(c *v1alpha1.CheckpointStatus) *v1alpha1.CheckpointStatus {
	if c == nil {
		return &v1alpha1.CheckpointStatus{}
	}
	return c.DeepCopy()
}

// preempted at a step, and queued again.
func (t *scenario) preempted(step int64, by string) *scenario {
	t.enter(0.5, v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted)
	t.now = t.now.Add(40 * time.Second)
	message := "Worker 1 on gpu-02 was preempted: preempting to accommodate " + by
	st := &t.job.Status
	st.Attempt++
	st.Preemptions++
	work := *st.Work
	lost := step - latest(st)
	work.Interruptions++
	work.LostSteps += lost
	work.LostSeconds += lost * 60 / 100
	work.LostGPUSeconds += lost * 60 / 100 * st.GPUs
	st.Work = &work
	st.Checkpoint = copyOf(st.Checkpoint)
	st.Checkpoint.ResumeFrom = st.Checkpoint.Latest
	st.Checkpoint.SuggestedInterval = 390
	st.Workers, st.ReadyReplicas, st.ReplicaStatuses = nil, 0, nil
	st.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionPreempted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPreempted,
		Message: message,
	}}
	return t.enter(0, v1alpha1.PhaseQueued, v1alpha1.ReasonPreempted)
}

func latest(st *v1alpha1.TrainingJobStatus) int64 {
	if st.Checkpoint == nil || st.Checkpoint.Latest == nil {
		return 0
	}
	return st.Checkpoint.Latest.Step
}

// input of the page at the end of the scenario.
func (t *scenario) input() Input {
	in := Input{
		Record: t.record, Live: t.job, Samples: t.record.Samples, Now: t.now,
		Explanation: new(explain.Of(t.job, t.now)), Timeline: timeline.OfRecord(t.record),
		Prices: map[string]*big.Rat{"NVIDIA-H100": big.NewRat(289, 100)}, Currency: "EUR",
		Links: Links{
			Page: "/board/clusters/lab/namespaces/team-a/jobs/" + t.job.Name,
			Logs: "/board/clusters/lab/namespaces/team-a/jobs/" + t.job.Name + "/logs",
			YAML: "/board/clusters/lab/namespaces/team-a/jobs/" + t.job.Name + "/yaml",
			Jobs: "/board/clusters/lab/jobs?namespace=team-a",
			Job:  "/board/clusters/lab/namespaces/team-a/jobs/", Queue: "/board/clusters/lab/queues",
		},
	}
	return in
}

// deleted: only the history has it.
func (t *scenario) deleted(minutes float64) Input {
	t.now = t.now.Add(time.Duration(minutes * float64(time.Minute)))
	t.record = history.Merge(t.record, history.Gone(t.record.Job.Key, &t.now, nil))
	in := t.input()
	in.Live, in.Explanation, in.Timeline = nil, nil, timeline.OfRecord(t.record)
	in.Now = t.now.Add(72 * time.Hour)
	in.Links.Page, in.Links.Logs, in.Links.YAML = "/board/clusters/lab/history/6f7c1a52", "", ""
	return in
}

// scenarios by name. Each has a page.
var scenarios = map[string]func() Input{
	"waits": func() Input {
		t := newScenario("llama-sft", 4).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
		t.after(12, func(st *v1alpha1.TrainingJobStatus) {
			st.Scheduling.Blocker = &v1alpha1.Blocker{
				Reason: v1alpha1.ReasonQuotaExceeded, Object: "queues.scheduling.volcano.sh/research",
				Message: "the gang needs 32 nvidia.com/gpu, and 12 of 64 in the quota of queue research are free: " +
					"team-a/bert uses 40, team-b/whisper uses 12",
				Need: corev1.ResourceList{
					"nvidia.com/gpu": resource.MustParse("32"), "memory": resource.MustParse("1536Gi"),
				},
				Free:         corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("12")},
				NextStep:     "wait until 20 nvidia.com/gpu are released, or ask the queue's admin for more quota",
				ObservedTime: new(metav1.NewTime(t.now)),
			}
			st.Scheduling.Preemption = &v1alpha1.PreemptionStatus{
				Outcome: v1alpha1.PreemptionPlanned, VictimCount: 3, LossGPUSeconds: 9000,
				ObservedTime: new(metav1.NewTime(t.now)),
				Victims: []v1alpha1.PreemptionVictim{
					{UID: "1", Attempt: 2, Name: "bert", GPUs: 16, Mode: v1alpha1.PreemptionSave,
						EstimatedLossSeconds: 75, LossGPUSeconds: 1200},
					{UID: "2", Attempt: 1, GPUs: 8, Mode: v1alpha1.PreemptionKill, EstimatedLossSeconds: 900,
						LossGPUSeconds: 7200},
				},
			}
		})
		return t.input()
	},
	"waits-with-a-forecast": func() Input {
		t := newScenario("llama-sft", 4).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
		t.after(12, func(st *v1alpha1.TrainingJobStatus) {
			at := func(hours time.Duration) *metav1.Time { return new(metav1.NewTime(t.now.Add(hours * time.Hour))) }
			st.Scheduling.EstimatedStart = &v1alpha1.EstimatedStart{
				Time: at(3), Earliest: at(2), Latest: at(5), Position: 2, ObservedTime: *at(0),
				HitPercent: 79, HitOf: 120,
				Behind: []v1alpha1.StartDependency{
					{What: v1alpha1.DependsOnOrder, Name: "gpt", Time: at(1), GPUs: 16},
					{What: v1alpha1.DependsOnEnd, Time: at(3), GPUs: 32, Basis: v1alpha1.ForecastSteps},
				},
			}
			st.Scheduling.EstimatedEnd = &v1alpha1.EstimatedEnd{
				Unknown: v1alpha1.EndLengthUnknown, ObservedTime: *at(0),
			}
			st.Scheduling.FirstForecast = &v1alpha1.FirstForecast{
				Earliest: *at(-2), Latest: *at(-1), Position: 4, SpreadPercent: 100, ObservedTime: *at(-3),
				Result: v1alpha1.ForecastLate, JudgedTime: at(-1),
			}
		})
		return t.input()
	},
	"waits-with-a-reservation": func() Input {
		t := newScenario("llama-sft", 4).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
		t.after(12, func(st *v1alpha1.TrainingJobStatus) {
			at := func(hours time.Duration) metav1.Time { return metav1.NewTime(t.now.Add(hours * time.Hour)) }
			st.Scheduling.Reservation = &v1alpha1.ReservationStatus{
				Phase: v1alpha1.ReservationKept, Time: new(at(3)), Nodes: []string{"node-1", "node-2"}, GPUs: 16,
				SinceTime: at(-6), ChangedTime: at(-6), Moved: 2,
			}
			st.Scheduling.Backfill = &v1alpha1.BackfillStatus{HeldSeconds: 540}
		})
		return t.input()
	},
	"runs-in-lent-capacity": func() Input {
		t := newScenario("bert-large", 8).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(3, 1)
		t.job.Status.Scheduling.Backfill = &v1alpha1.BackfillStatus{
			How: v1alpha1.BackfillIsLent, Until: new(metav1.NewTime(t.now.Add(time.Hour))),
		}
		return t.input()
	},
	"runs": func() Input {
		t := newScenario("bert-large", 8).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(3, 1)
		t.trains(0, 3700, 8000)
		t.job.Status.Workers[5].RestartCount = 2
		t.job.Status.Progress.Source = v1alpha1.ProgressFromKubeflow
		return t.input()
	},
	"was-preempted-twice": func() Input { return preemptedTwice("bert-large").input() },
	"was-preempted-twice-by-time": func() Input {
		in := preemptedTwice("bert-large").input()
		in.By = ByTime
		return in
	},
	"failed": func() Input {
		t := newScenario("vit", 2).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(1, 0.5)
		t.trains(0, 800, 8000)
		t.after(0.3, func(st *v1alpha1.TrainingJobStatus) {
			p := st.Progress.DeepCopy()
			p.Step, p.Metrics["loss"], p.ReportedTime = 850, "NaN", metav1.NewTime(t.now)
			st.Progress = p
		})
		t.after(0.2, func(st *v1alpha1.TrainingJobStatus) {
			st.LastFailure = &v1alpha1.FailureStatus{
				Role: v1alpha1.RoleWorker, Index: 1, PodName: "vit-worker-1", Attempt: 1, Node: "gpu-02",
				ExitCode: new(int32(1)), Reason: "Error", Time: new(metav1.NewTime(t.now)),
				Message: "Traceback (most recent call last):\n  File \"/app/train.py\", line 88, in <module>\n" +
					"\x1b[1;31mRuntimeError\x1b[0m: loss is NaN at step 850 in <script>alert('x')</script>\n",
			}
			st.Message = "a rank failed, and backoffLimit 0 is spent"
			st.CompletionTime = new(metav1.NewTime(t.now))
		})
		t.enter(0, v1alpha1.PhaseDraining, v1alpha1.ReasonRankFailed)
		work := *t.job.Status.Work
		work.LostSteps, work.LostSeconds, work.LostGPUSeconds = 350, 210, 3360
		t.job.Status.Work, t.job.Status.Restarts = &work, 1
		t.job.Status.Workers, t.job.Status.ReadyReplicas = nil, 0
		return t.enter(0.4, v1alpha1.PhaseFailed, v1alpha1.ReasonBackoffLimit).input()
	},
	"was-deleted": func() Input { return preemptedTwice("bert-large").deleted(30) },
	"has-html-in-names": func() Input {
		evil := `<img src=x onerror=alert(1)>"'&`
		t := preemptedTwice("x")
		t.after(1, func(st *v1alpha1.TrainingJobStatus) {
			st.Message, st.Scheduling.Queue = evil, evil
			st.Scheduling.Blocker = &v1alpha1.Blocker{
				Reason: evil, Object: evil, Message: evil, NextStep: evil,
				Need: corev1.ResourceList{corev1.ResourceName(evil): resource.MustParse("1")},
			}
			st.Workers[0].Node, st.Workers[0].Phase = evil, evil
			st.Progress = st.Progress.DeepCopy()
			st.Progress.Epoch, st.Progress.Metrics = evil, map[string]string{evil + " loss": "1"}
			st.LastFailure = &v1alpha1.FailureStatus{PodName: evil, Reason: evil, Message: evil, Node: evil}
		})
		in := t.input()
		in.Record.Job.Name, in.Record.Job.User, in.Record.Job.Namespace = evil, evil, evil
		in.Record.Job.GPUKind, in.Record.Job.PriorityClass = evil, evil
		for i := range in.Record.Preemptions {
			in.Record.Preemptions[i].By, in.Record.Preemptions[i].Message = evil, evil
			in.Record.Preemptions[i].Reason = evil
		}
		for i := range in.Record.Checkpoints {
			in.Record.Checkpoints[i].URI = "javascript:" + evil
		}
		in.Record.Transitions[3].Phase = v1alpha1.Phase(evil)
		in.Notes = []string{evil}
		in.Currency = evil
		return in
	},
	"has-unknowns": func() Input {
		t := newScenario("mystery", 3)
		t.job.Annotations = nil
		t.options = history.Options{}
		t.seen = false
		t.enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
		for range 5 {
			t.runs(2, 1).trains(0, 300, 8000)
			t.preempted(300, "a pod")
		}
		t.runs(1, 1)
		ts := t.job.Status.Transitions
		t.job.Status.Transitions = ts[len(ts)-20:]
		t.seen = true
		t.after(1, func(st *v1alpha1.TrainingJobStatus) {
			st.Progress, st.Checkpoint = &v1alpha1.ProgressStatus{
				Attempt: st.Attempt, Step: 320, ReportedTime: metav1.NewTime(t.now),
			}, nil
			st.Workers = st.Workers[:1]
			st.ReadyReplicas = 2
			st.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{
				v1alpha1.RoleWorker: {Replicas: 3, Active: 3, Ready: 2},
			}
			st.LastFailure = &v1alpha1.FailureStatus{PodName: "mystery-worker-2", Attempt: 4}
		})
		in := t.input()
		in.Notes = []string{"The history has known this job since attempt 6 only."}
		return in
	},
	"hangs": func() Input {
		t := newScenario("bert-large", 8).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(3, 1)
		t.trains(0, 1200, 8000).after(18, func(st *v1alpha1.TrainingJobStatus) {
			st.Scheduling.Blocker = &v1alpha1.Blocker{
				Reason: v1alpha1.ReasonGangHung,
				Message: "no rank has made progress for 18m (a step takes 0.6s, the limit is 15m); 7 of 8 ranks have " +
					"finished step 1201, bert-large-worker-5 on gpu-06 has not",
				NextStep:     "kubectl logs bert-large-worker-5 --tail=50",
				ObservedTime: new(metav1.NewTime(t.now)),
			}
			st.Liveness = &v1alpha1.LivenessStatus{
				State: v1alpha1.LivenessHung, Since: new(metav1.NewTime(t.now.Add(-3 * time.Minute))),
				Step: new(int64(1201)), ObservedTime: new(metav1.NewTime(t.now)),
				IdleSeconds:  18 * 60,
				LimitSeconds: 900, ReportingRanks: 8, WatchedRanks: 8, Restarts: 1,
				Suspects: []v1alpha1.Suspect{{
					Pod: "bert-large-worker-5", Node: "gpu-06", Step: new(int64(1200)), Evidence: v1alpha1.EvidenceBehind,
				}, {Pod: "bert-large-worker-7", Evidence: v1alpha1.EvidenceSilent}},
			}
		})
		return t.input()
	},
	"rehearses": func() Input {
		t := newScenario("bert-rehearsal", 4).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(1, 1)
		t.job.Labels = map[string]string{v1alpha1.LabelRehearsalOf: "bert"}
		t.job.Annotations[v1alpha1.AnnotationRehearsalRevision] = "5d41c0a2fe"
		t.job.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{}
		t.after(2, func(st *v1alpha1.TrainingJobStatus) {
			st.Rehearsal = &v1alpha1.RehearsalStatus{
				Checks: []v1alpha1.RehearsalCheck{
					{Name: v1alpha1.CheckReports, Outcome: v1alpha1.RehearsalPassed},
					{
						Name: v1alpha1.CheckResumes, Outcome: v1alpha1.RehearsalFailed, Attempt: 2,
						Message: "attempt 2 was given step 40 and began at step 1: load RESUME_FROM_CHECKPOINT",
					},
					{
						Name: v1alpha1.CheckData, Outcome: v1alpha1.RehearsalNotSeen,
						Message: `write "batch" into the status to have it checked`,
					},
					{
						Name: v1alpha1.CheckExit, Outcome: v1alpha1.RehearsalWarning, Attempt: 2,
						Message: "it saved in 3s and then exited with 1: a preemption forgives that, a drained rank " +
							"seen late counts as a failure",
					},
				},
				Attempts: []v1alpha1.RehearsalAttempt{{
					Attempt: 1, Way: v1alpha1.RehearsalKill, EndStep: new(int64(60)), EndTime: new(metav1.NewTime(t.now)),
					Evidence: &v1alpha1.RehearsalEvidence{StartMilliseconds: 37200, SaveMilliseconds: 10500},
				}},
			}
		})
		in := t.input()
		in.Timeline = timeline.Of(t.job)
		return in
	},
	"was-rehearsed": func() Input {
		in := newScenario("bert", 4).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(3, 1).input()
		in.Explanation.Rehearsed = &explain.Rehearsed{
			Name: "bert-rehearsal", Result: v1alpha1.RehearsalResultPassed, Ended: new(in.Now.Add(-2 * time.Hour)),
			SameSpec: new(true), Ranks: 4, Summary: "Passed, same spec",
		}
		return in
	},
	"is-new": func() Input {
		return newScenario("fresh", 2).after(0, func(*v1alpha1.TrainingJobStatus) {}).input()
	},
}

// preemptedTwice and resumed each time.
func preemptedTwice(name string) *scenario {
	t := newScenario(name, 4).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(4, 1)
	t.trains(0, 1800, 8000).preempted(1800, "a higher priority pod")
	t.runs(9, 1).trains(1500, 2900, 8000)
	t.preempted(2900, "a workload due to prioritization in the ClusterQueue")
	return t.runs(21, 1).trains(2500, 4600, 8000)
}

// ranksOf the live job of an input, from its status.
func ranksOf(in *Input) RanksInput { return RanksInput{Job: in.Live, Logs: in.Links.Logs} }

// followed returns the input with the ranks of the status on their nodes, for a reader who may see the pods.
func followed(in *Input) RanksInput {
	out := ranksOf(in)
	out.Followed = true
	for _, w := range in.Live.Status.Workers {
		out.Placed = append(out.Placed, placement.RankOnNode{Node: w.Node, Rank: placement.Rank{
			Role: spec.RoleKey(w.Role), Index: w.Index, State: placement.Running, Ready: true,
			Restarts: w.RestartCount,
		}})
	}
	return out
}

// thousandRanks of a running job.
func thousandRanks() (Input, RanksInput) {
	t := newScenario("gpt", 1000).enter(0.1, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued).runs(3, 1)
	t.trains(0, 600, 8000)
	in := t.input()
	out := followed(&in)
	in.Live.Status.Workers = in.Live.Status.Workers[:100]
	return in, out
}

// scenarioNames in their order.
func scenarioNames() []string { return slices.Sorted(maps.Keys(scenarios)) }
