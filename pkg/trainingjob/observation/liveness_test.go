package observation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// watched returns the observation of a running gang of n ranks, whose beats change edits.
func watched(n int32, change func(*Snapshot)) *Observation {
	job := jobtest.New(n, jobtest.Checkpoints)
	job.Spec.RunPolicy.Liveness = &v1alpha1.LivenessPolicy{Mode: v1alpha1.LivenessWarn}
	job.Status.Phase, job.Status.Attempt = v1alpha1.PhaseRunning, 2
	job.Status.Transitions = []v1alpha1.Transition{
		{Phase: v1alpha1.PhaseRunning, Time: metav1.NewTime(now.Add(-time.Hour))},
	}
	s := Snapshot{
		Job: job, Now: now, BeatInterval: 30 * time.Second, Beats: map[types.UID]ReceivedBeat{},
		Agent: render.Agent{Image: "agent:1", MaxLiveness: v1alpha1.LivenessAct},
	}
	for i := range n {
		ref := spec.RankRef{Role: v1alpha1.RoleWorker, Index: i}
		s.Pods = append(s.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: spec.PodName("bert", ref), UID: types.UID(fmt.Sprint(i)),
				Labels: map[string]string{v1alpha1.LabelAttempt: "2"},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i), Containers: []corev1.Container{
				{Name: "trainer", Env: []corev1.EnvVar{{Name: checkpoint.EnvBeatFile}}},
			}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
		s.Beats[types.UID(fmt.Sprint(i))] = beatAt(100, 10*time.Minute, 10*time.Second)
	}
	change(&s)
	return Of(s)
}

// beatAt returns a beat of the given age, which had been idle for so long.
func beatAt(step int64, idle, age time.Duration) ReceivedBeat {
	return ReceivedBeat{Received: now.Add(-age), Beat: checkpoint.Beat{
		Attempt: 2, Step: &step, StepSeconds: 2, IdleSeconds: idle.Seconds(), Phase: checkpoint.PhaseTraining,
		Labels: true,
	}}
}

func TestWatchedGang(t *testing.T) {
	hour := func(s *Snapshot) {
		for uid := range s.Beats {
			s.Beats[uid] = beatAt(100, time.Hour, 10*time.Second)
		}
	}
	for name, c := range map[string]struct {
		change func(*Snapshot)
		want   v1alpha1.LivenessState // "": not watched
		early  bool
	}{
		"it trains":               {func(*Snapshot) {}, v1alpha1.LivenessProgressing, false},
		"it hangs":                {hour, v1alpha1.LivenessHung, false},
		"mode Off":                {func(s *Snapshot) { s.Agent.MaxLiveness = v1alpha1.LivenessOff }, "", false},
		"no report server":        {func(s *Snapshot) { s.BeatInterval = 0 }, "", false},
		"it starts":               {func(s *Snapshot) { s.Job.Status.Phase = v1alpha1.PhaseStarting }, "", false},
		"a rank sends no beats":   {func(s *Snapshot) { s.Pods[2].Spec.Containers[0].Env = nil }, "", false},
		"beats of other pods":     {otherPods, v1alpha1.LivenessUnknown, false},
		"beats of the last start": {lastAttempt, v1alpha1.LivenessUnknown, false},
		"a new leader": {func(s *Snapshot) {
			hour(s)
			s.LeadsSince = now.Add(-59 * time.Second)
		}, v1alpha1.LivenessUnknown, true},
		"a leader for two intervals": {func(s *Snapshot) {
			hour(s)
			s.LeadsSince = now.Add(-time.Minute)
		}, v1alpha1.LivenessHung, true},
	} {
		o := watched(4, c.change)
		if o.Liveness == nil {
			if c.want != "" {
				t.Errorf("%s: not watched, want %s", name, c.want)
			}
			continue
		}
		if o.Liveness.State != c.want || o.Liveness.Early != c.early {
			t.Errorf("%s: got %s, early %t; want %q, %t", name, o.Liveness.State, o.Liveness.Early, c.want, c.early)
		}
	}
}

func otherPods(s *Snapshot) { s.Pods[0].UID, s.Pods[1].UID = "x", "y" }

func lastAttempt(s *Snapshot) {
	for uid, b := range s.Beats {
		b.Attempt = 1
		s.Beats[uid] = b
	}
}

// TestServersAreNotWatched: parameter servers make no steps, and a gang may hang although they send beats.
func TestServersAreNotWatched(t *testing.T) {
	o := watched(3, func(s *Snapshot) {
		jobtest.RolesOf(v1alpha1.FrameworkTensorFlow, map[v1alpha1.Role]int32{
			v1alpha1.RolePS: 1, v1alpha1.RoleWorker: 1, v1alpha1.RoleEvaluator: 1,
		})(s.Job)
		for i, role := range []v1alpha1.Role{v1alpha1.RolePS, v1alpha1.RoleWorker, v1alpha1.RoleEvaluator} {
			s.Pods[i].Name = spec.PodName("bert", spec.RankRef{Role: role})
			s.Pods[i].Spec.Containers[0].Name = "main"
		}
		s.Beats["1"] = beatAt(100, time.Hour, 0)
	})
	if o.Liveness == nil || o.Liveness.Watched != 1 || o.Liveness.State != v1alpha1.LivenessHung {
		t.Errorf("got %+v, want 1 watched rank in state Hung", o.Liveness)
	}
}

func TestUnfinished(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Snapshot)
		want   []string
	}{
		"all have finished the step": {func(*Snapshot) {}, nil},
		"a rank has not": {func(s *Snapshot) {
			s.Beats["2"] = beatAt(99, 10*time.Minute, 10*time.Second)
		}, []string{"bert-worker-2"}},
		"its beat is older than the step": {func(s *Snapshot) {
			for uid := range s.Beats {
				s.Beats[uid] = beatAt(100, time.Second, time.Second)
			}
			s.Beats["2"] = beatAt(90, time.Second, 25*time.Second)
		}, nil},
		"its beat is of another attempt": {func(s *Snapshot) {
			b := beatAt(99, 10*time.Minute, 10*time.Second)
			b.Attempt = 1
			s.Beats["2"] = b
		}, nil},
		"more than a tenth have not": {func(s *Snapshot) {
			s.Beats["1"] = beatAt(99, 10*time.Minute, 10*time.Second)
			s.Beats["2"] = beatAt(98, 10*time.Minute, 10*time.Second)
		}, nil},
		"no beats": {func(s *Snapshot) { s.Beats = nil }, nil},
	} {
		if got, _ := watched(4, c.change).Unfinished(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		2100 * time.Millisecond: "2.1s", 12400 * time.Millisecond: "12s", 15 * time.Minute: "15m",
		150 * time.Second: "2m30s", time.Hour: "1h", 61 * time.Minute: "1h1m", 3601 * time.Second: "1h0m1s",
		10 * time.Minute: "10m", 10 * time.Hour: "10h",
	} {
		if got := Age(d); got != want {
			t.Errorf("%d s: got %s, want %s", d/time.Second, got, want)
		}
	}
}
