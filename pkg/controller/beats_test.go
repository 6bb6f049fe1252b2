package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// lastBeats is a Beats of one job.
type lastBeats map[types.UID]observation.ReceivedBeat

func (b lastBeats) Of(types.UID) map[types.UID]observation.ReceivedBeat { return b }

func (lastBeats) Interval() time.Duration { return 30 * time.Second }

// watchedFixture has a running gang in mode Act, whose ranks send beats.
func watchedFixture(t *testing.T, others ...client.Object) (*fixture, lastBeats) {
	t.Helper()
	job := checkpointed(2)
	job.Spec.RunPolicy.Liveness = &v1alpha1.LivenessPolicy{Mode: v1alpha1.LivenessAct}
	f, _ := newCheckpointFixture(t, job, others...)
	beats := lastBeats{}
	f.options.Beats = beats
	f.options.Agent = func() render.Agent {
		return render.Agent{
			Image: "agent", ReportURL: "https://operator.example.com/reports", MaxLiveness: v1alpha1.LivenessAct,
		}
	}
	f.restart()
	f.startGang()
	f.setPods(func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: checkpoint.EnvBeatFile, Value: "/beat"})
	})
	f.sync()
	return f, beats
}

// send sends beats of both ranks, which have been idle for so long.
func (b lastBeats) send(f *fixture, step int64, idle time.Duration) {
	f.t.Helper()
	pods := &corev1.PodList{}
	if err := f.store.List(f.t.Context(), pods); err != nil {
		f.t.Fatal(err)
	}
	for _, p := range pods.Items {
		b[p.UID] = observation.ReceivedBeat{Received: f.clock.Now(), Beat: checkpoint.Beat{
			Attempt: 1, Step: &step, StepSeconds: 2, IdleSeconds: idle.Seconds(), Labels: true,
			Phase: checkpoint.PhaseTraining,
		}}
	}
}

// TestBeatsCauseNoWrites: an hour of beats costs one write, for the first state. A hang costs one write, and
// another one begins the drain a minute later.
func TestBeatsCauseNoWrites(t *testing.T) {
	f, beats := watchedFixture(t)
	writes := 0
	reconcile := func(d, idle time.Duration) {
		for end := f.clock.Now().Add(d); f.clock.Now().Before(end); {
			f.clock.Step(10 * time.Second)
			beats.send(f, 100, idle)
			idle += 10 * time.Second
			did, _, err := f.reconcile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			writes += len(did)
			if f.job().Status.Phase != v1alpha1.PhaseRunning {
				return
			}
		}
	}
	for range 360 {
		reconcile(10*time.Second, 0)
	}
	if l := f.job().Status.Liveness; writes != 1 || l == nil || l.State != v1alpha1.LivenessProgressing {
		t.Errorf("an hour of beats cost %d writes, want 1; liveness %+v", writes, l)
	}
	writes = 0
	reconcile(15*time.Minute+50*time.Second, 0)
	l, blocker := f.job().Status.Liveness, f.job().Status.Scheduling.Blocker
	if l.State != v1alpha1.LivenessHung || blocker == nil {
		t.Errorf("after a hang of 15 minutes: %+v, blocker %+v", l, blocker)
	}
	reconcile(2*time.Minute, 16*time.Minute)
	st := f.job().Status
	if st.Phase != v1alpha1.PhaseDraining || st.Drain.Cause != v1alpha1.CauseHang || st.Liveness.Restarts != 1 {
		t.Errorf("the hang lasts, and the job is %s, drain %+v, liveness %+v", st.Phase, st.Drain, st.Liveness)
	}
}

// TestNewLeaderRestartsNoGang: a process restarts a gang only after it has led for ten minutes.
func TestNewLeaderRestartsNoGang(t *testing.T) {
	f, beats := watchedFixture(t)
	f.clock.Step(time.Hour)
	f.restart()
	f.sync()
	for at := time.Duration(0); at < 9*time.Minute; at += 30 * time.Second {
		beats.send(f, 100, time.Hour+at)
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := f.job().Status; st.Phase != v1alpha1.PhaseRunning {
			t.Fatalf("%s after it became the leader, the process restarts the gang", at)
		}
		f.clock.Step(30 * time.Second)
	}
	if l := f.job().Status.Liveness; l == nil || l.State != v1alpha1.LivenessHung {
		t.Errorf("the new leader reports no hang: %+v", l)
	}
	for range 6 {
		f.clock.Step(30 * time.Second)
		beats.send(f, 100, 2*time.Hour)
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if st := f.job().Status; st.Phase != v1alpha1.PhaseDraining {
		t.Errorf("after ten minutes the job is %s, want Draining", st.Phase)
	}
}

func TestCountHangs(t *testing.T) {
	now := metav1.NewTime(start.Add(time.Hour))
	ago := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(now.Add(-d))) }
	job := func(name string, change func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
		j := checkpointed(2)
		j.Name, j.UID = name, types.UID("uid-"+name)
		j.Spec.RunPolicy.Liveness = &v1alpha1.LivenessPolicy{Mode: v1alpha1.LivenessWarn}
		j.Status.Phase = v1alpha1.PhaseRunning
		change(j)
		return j
	}
	hangs := func(idle int64, observed time.Duration) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Status.Liveness = &v1alpha1.LivenessStatus{
				State: v1alpha1.LivenessHung, IdleSeconds: idle, ObservedTime: ago(observed),
			}
		}
	}
	restarted := func(phase v1alpha1.Phase, before time.Duration) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Status.Phase = phase
			j.Status.Transitions = []v1alpha1.Transition{
				{Time: *ago(before), Phase: v1alpha1.PhaseDraining, Reason: v1alpha1.ReasonGangHung},
			}
		}
	}
	this := job("this", hangs(900, time.Minute))
	f := newFixture(t, bert(1), this,
		job("same-moment", hangs(1500, time.Minute)),
		job("long-before", hangs(1600, time.Minute)),
		job("off", func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Liveness.Mode = v1alpha1.LivenessOff }),
		job("elsewhere", func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = "kueue.x-k8s.io/multikueue" }),
		job("restarted", restarted(v1alpha1.PhaseSucceeded, 9*time.Minute)),
		job("restarted-before", restarted(v1alpha1.PhaseRunning, 11*time.Minute)),
	)
	got := f.r.gatherer.countHangs(t.Context(), this, render.Agent{MaxLiveness: v1alpha1.LivenessAct}, now.Time)
	if want := (observation.Hangs{Watched: 4, Together: 2, Running: 5, Restarts: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
