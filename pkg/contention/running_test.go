package contention

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestRunningGang(t *testing.T) {
	rank := scheduler.Amounts{gpu: 8, corev1.ResourcePods: 1}
	plain := preemption.Running{
		Ref: preemption.Ref{UID: "low", Attempt: 1}, Value: 1, GPUs: 16, Began: now.Add(-time.Hour),
		Grace: 40 * time.Second, Holds: map[string]scheduler.Amounts{"a": rank, "b": rank},
	}
	with := func(edit func(*preemption.Running)) preemption.Running {
		g := plain
		edit(&g)
		return g
	}
	cases := map[string]struct {
		reason string
		edit   []func(*Job)
		want   preemption.Running
	}{
		"plain": {"what its pods hold, by node", nil, plain},
		"two ranks on a node": {"their requests add up", []func(*Job){func(j *Job) {
			j.Pods[1].Spec.NodeName = "a"
		}}, with(func(g *preemption.Running) {
			g.Holds = map[string]scheduler.Amounts{"a": {gpu: 16, corev1.ResourcePods: 2}}
		})},
		"a rank that has ended": {"it holds nothing", []func(*Job){func(j *Job) {
			j.Pods[1].Status.Phase = corev1.PodFailed
		}}, with(func(g *preemption.Running) { g.Holds = map[string]scheduler.Amounts{"a": rank} })},
		"a rank without a node": {"it holds nothing yet", []func(*Job){func(j *Job) {
			j.Pods[1].Spec.NodeName = ""
		}}, with(func(g *preemption.Running) { g.Holds = map[string]scheduler.Amounts{"a": rank} })},
		"a pod that names no grace": {"it has Kubernetes' default", []func(*Job){func(j *Job) {
			for _, pod := range j.Pods {
				pod.Spec.TerminationGracePeriodSeconds = nil
			}
		}}, with(func(g *preemption.Running) { g.Grace = 30 * time.Second })},
		"saves": {"the next one is due an interval later", []func(*Job){saved(10 * time.Minute), reports},
			with(func(g *preemption.Running) {
				g.Save, g.Saved, g.NextSave = 20*time.Second, now.Add(-10*time.Minute), now.Add(5*time.Minute)
				g.Reported = now.Add(-5 * time.Second)
			})},
		"reports by the Kubeflow callback": {"it reads no commands", []func(*Job){reports, func(j *Job) {
			j.Status.Progress = &v1alpha1.ProgressStatus{Attempt: 1, Source: v1alpha1.ProgressFromKubeflow}
		}}, plain},
		"has started": {"another start costs what the last one did", []func(*Job){func(j *Job) {
			j.Status.Work = &v1alpha1.WorkStatus{StartSeconds: 90}
		}}, with(func(g *preemption.Running) { g.Start = 90 * time.Second })},
		"resumed, not saved": {"the checkpoint is from the previous attempt", []func(*Job){saved(2 * time.Hour)},
			with(func(g *preemption.Running) { g.Save = 20 * time.Second })},
		"takes no checkpoints any more": {"what it once saved is not resumed from", []func(*Job){
			saved(time.Minute), func(j *Job) { j.Spec.Checkpoint.Enabled = new(false) },
		}, plain},
		"progress of the previous attempt": {"its estimate is obsolete", []func(*Job){func(j *Job) {
			at := ago(-time.Minute)
			j.Status.Progress = &v1alpha1.ProgressStatus{Attempt: 0, EstimatedCompletionTime: &at}
		}}, plain},
		"suspended": {"it is about to end", []func(*Job){func(j *Job) { j.Spec.RunPolicy.Suspend = new(true) }},
			with(func(g *preemption.Running) { g.Ending = true })},
		"deleted": {"it is about to end", []func(*Job){func(j *Job) { at := ago(0); j.DeletionTimestamp = &at }},
			with(func(g *preemption.Running) { g.Ending = true })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j := jobOf("low", 1, 2, append([]func(*Job){runs(time.Hour, "a", "b")}, tc.edit...)...)
			if diff := cmp.Diff(tc.want, runningGang(&j)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWaitingGang(t *testing.T) {
	j := jobOf("urgent", 9, 3, lacksNodes, func(j *Job) {
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	})
	bound := jobOf("bound", 9, 1, runs(time.Hour, "a"))
	j.Pods = bound.Pods
	want := preemption.Waiting{
		Ref: preemption.Ref{UID: "urgent", Attempt: 1}, Value: 9, Since: now.Add(-time.Hour),
		Blocked: now.Add(-10 * time.Minute), MaxDelay: 2 * time.Minute,
		Needs: []preemption.Need{{
			Ranks: 1, Requests: scheduler.Amounts{gpu: 8, corev1.ResourcePods: 1}, Nodes: []string{"a", "b"},
		}},
	}
	if diff := cmp.Diff(want, waitingGang(&j, full("a", "b"), nil)); diff != "" {
		t.Errorf("of 3 ranks 2 must start, and 1 has a node (-want +got):\n%s", diff)
	}
}

func TestWaitsAndHoldsNodes(t *testing.T) {
	elsewhere := func(j *Job) { j.Spec.ManagedBy = "kueue.x-k8s.io/multikueue" }
	cases := map[string]struct {
		reason       string
		job          Job
		waits, holds bool
	}{
		"runs":    {"", jobOf("j", 1, 1, runs(time.Hour, "a")), false, true},
		"lacks":   {"", jobOf("j", 1, 1, lacksNodes), true, false},
		"done":    {"it has ended", jobOf("j", 1, 1, enters(v1alpha1.PhaseSucceeded)), false, false},
		"new":     {"no reason is known", jobOf("j", 1, 1, enters(v1alpha1.PhaseQueued)), false, false},
		"remote":  {"another cluster runs it", jobOf("j", 1, 1, runs(time.Hour, "a"), elsewhere), false, false},
		"distant": {"another cluster queues it", jobOf("j", 1, 1, lacksNodes, elsewhere), false, false},
		"suspended": {"it wants no capacity", jobOf("j", 1, 1, lacksNodes, func(j *Job) {
			j.Spec.RunPolicy.Suspend = new(true)
		}), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if w, h := Waits(tc.job.TrainingJob), spec.HoldsNodes(tc.job.TrainingJob); w != tc.waits || h != tc.holds {
				t.Errorf("%s: waits %t, holds %t", tc.reason, w, h)
			}
		})
	}
}
