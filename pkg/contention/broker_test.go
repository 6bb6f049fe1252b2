package contention

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// saves in so many seconds; the last save was half an hour ago.
func saves(seconds int32) func(*Job) {
	return func(j *Job) {
		saved(30 * time.Minute)(j)
		j.Status.Checkpoint.SaveSeconds = seconds
	}
}

func finishesIn(d time.Duration) func(*Job) {
	return func(j *Job) {
		at := ago(-d)
		j.Status.Progress = &v1alpha1.ProgressStatus{Attempt: 1, EstimatedCompletionTime: &at}
	}
}

func minRun(d time.Duration) func(*Job) { return func(j *Job) { j.Class.MinRun = d } }

func blockedNow(j *Job) { j.enter(v1alpha1.PhaseQueued, 0) }

var brokerHistories = map[string]func(testing.TB) *simulation{
	"preempts": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("slow", 1, 1, runs(time.Hour, "a"), saves(30)),
			jobOf("fast", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 2))
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		s.run(10)
		return s
	},
	"frees-one-rack": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a0", "a1", "b0", "b1"},
			jobOf("silent-a", 1, 1, runs(time.Hour, "a0"), saved(50*time.Minute)),
			jobOf("slow-a", 1, 1, runs(time.Hour, "a1"), saves(30)),
			jobOf("slow-b", 1, 1, runs(time.Hour, "b0"), saves(30)),
			jobOf("fast-b", 1, 1, runs(time.Hour, "b1"), saves(10)), urgentJob("urgent", 9, 2, withinRack))
		s.racks = map[string]string{"a0": "a", "a1": "a", "b0": "b", "b1": "b"}
		s.mute["silent-a"] = true
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		s.run(10)
		return s
	},
	"cannot-free-a-rack-on-volcano": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a0", "a1", "b0", "b1"},
			jobOf("low-a", 1, 1, runs(time.Hour, "a0"), saves(10)),
			jobOf("low-b", 1, 1, runs(time.Hour, "b0"), saves(20)),
			jobOf("high", 9, 2, runs(time.Hour, "b1")), urgentJob("urgent", 9, 2, withinRack))
		s.racks = map[string]string{"a0": "a", "a1": "a", "b0": "b", "b1": "b"}
		s.until("its victim has ended", s.planIs("urgent", v1alpha1.PreemptionReleasing))
		s.steal("a1")
		s.run(300)
		return s
	},
	"victim-does-not-return-first": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a"}, jobOf("low", 1, 1, runs(time.Hour, "a"), saves(10)),
			urgentJob("urgent", 9, 1))
		s.rests = true
		s.until("capacity is free", s.planIs("urgent", v1alpha1.PreemptionPlacing))
		s.rests = false
		s.run(5)
		return s
	},
	"quota-read-before": func(t testing.TB) *simulation {
		// The quota's free amount is from before the victim ended.
		s := simulate(t, []string{"a", "b"}, jobOf("low", 1, 1, runs(time.Hour, "a"), saves(10), queue("research")),
			jobOf("soon", 1, 1, runs(time.Hour, "b"), finishesIn(100*time.Second), queue("research")),
			urgentJob("urgent", 9, 2, lacksQuota("queues/research", "0"), blockedNow, queue("research")))
		s.until("there is a plan", s.planIs("urgent", v1alpha1.PreemptionAsking))
		s.until("the victim is queued", func() bool { return s.job("low").Status.Phase == v1alpha1.PhaseQueued })
		s.run(5)
		s.rests = true
		s.until("capacity is free", s.planIs("urgent", v1alpha1.PreemptionPlacing))
		s.run(5)
		s.rests = false
		s.run(5)
		return s
	},
	"capacity-stolen-before-the-protected": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("first", 1, 1, runs(time.Hour, "a"), saves(5)),
			jobOf("young", 1, 1, runs(time.Minute, "b"), saves(10)), urgentJob("urgent", 9, 1))
		s.rests = true
		s.until("capacity is free", s.planIs("urgent", v1alpha1.PreemptionPlacing))
		s.rests = false
		s.steal("a")
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"capacity-stolen": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b", "c"}, jobOf("first", 1, 1, runs(time.Hour, "a"), saves(5)),
			jobOf("second", 1, 1, runs(time.Hour, "b"), saves(10)),
			jobOf("third", 1, 1, runs(time.Hour, "c"), saves(15)), urgentJob("urgent", 9, 1))
		for _, name := range []string{"a", "b"} {
			s.rests = true
			s.until("capacity is free", s.planIs("urgent", v1alpha1.PreemptionPlacing))
			s.steal(name)
			s.tick()
			s.rests = false
		}
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"rounds-end": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b", "c", "d"}, jobOf("first", 1, 1, runs(time.Hour, "a"), saves(5)),
			jobOf("second", 1, 1, runs(time.Hour, "b"), saves(10)),
			jobOf("third", 1, 1, runs(time.Hour, "c"), saves(15)),
			jobOf("fourth", 1, 1, runs(time.Hour, "d"), saves(20)), urgentJob("urgent", 9, 1))
		s.rests = true
		for _, name := range []string{"a", "b", "c"} {
			s.until("capacity is free", s.planIs("urgent", v1alpha1.PreemptionPlacing))
			s.steal(name)
			s.tick()
			s.tick()
		}
		return s
	},
	"is-not-placed": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a"}, jobOf("low", 1, 1, runs(time.Hour, "a"), saves(10)),
			urgentJob("urgent", 9, 1))
		s.rests = true
		s.until("it is handed over", func() bool { return s.job("urgent").Status.Attempt == 2 })
		s.rests = false
		s.run(2)
		return s
	},
	"no-victim": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a"}, jobOf("peer", 9, 1, runs(time.Hour, "a"), saves(10)),
			urgentJob("urgent", 9, 1))
		s.run(7)
		return s
	},
	"revoked": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("slow", 1, 1, runs(time.Hour, "a"), saves(30)),
			jobOf("fast", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 2))
		s.until("one is asked", s.phaseIs("slow", v1alpha1.PhaseDraining))
		s.drop("urgent")
		s.until("it returns", s.phaseIs("slow", v1alpha1.PhaseRunning))
		return s
	},
	"silent-trainer": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a"}, jobOf("low", 1, 1, runs(time.Hour, "a"), saves(10)),
			urgentJob("urgent", 9, 1))
		s.run(2)
		s.mute["low"] = true // it was stopped, and does not receive it
		s.ends["low"] = s.ends["low"].Add(time.Hour)
		if p := s.job("urgent").Status.Scheduling.Preemption; p != nil {
			s.ends["low"] = p.Deadline.Time
		}
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"killed-victim-is-deleted-and-capacity-stolen": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("first", 1, 1, runs(20*time.Minute, "a")),
			jobOf("second", 2, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 1))
		s.rests = true
		s.until("capacity is free", s.planIs("urgent", v1alpha1.PreemptionPlacing))
		s.drop("first")
		s.rests = false
		s.steal("a")
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"killed-victim-is-gone-and-node-fails": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("first", 1, 1, runs(20*time.Minute, "a")),
			jobOf("second", 2, 1, runs(time.Hour, "b")), urgentJob("urgent", 9, 1))
		s.rests = true
		s.until("capacity is free", s.planIs("urgent", v1alpha1.PreemptionPlacing))
		s.rests = false
		s.failNode("a", time.Hour)
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"proposed-victim-ends": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("slow", 1, 1, runs(time.Hour, "a"), saves(30)),
			jobOf("fast", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 2))
		s.losesWrites = true
		s.tick()
		s.drop("fast")
		s.tick()
		s.losesWrites = false
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"victim-fails": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("slow", 1, 1, runs(time.Hour, "a"), saves(30)),
			jobOf("fast", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 1))
		s.run(2)
		s.drop("fast") // the cheaper one
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"stale-node": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a"}, jobOf("low", 1, 1, runs(time.Hour, "a"), saves(10)),
			urgentJob("urgent", 9, 1))
		s.until("it is asked", s.phaseIs("low", v1alpha1.PhaseDraining))
		s.ends["low"] = s.now.Add(time.Hour) // its node does not answer
		s.until("it is handed over", func() bool { return s.job("urgent").Status.Attempt == 2 })
		return s
	},
	"two-preemptors": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("slow", 1, 1, runs(time.Hour, "a"), saves(30)),
			jobOf("fast", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("second", 8, 1),
			urgentJob("first", 9, 1))
		s.until("both run", func() bool {
			return s.phaseIs("first", v1alpha1.PhaseRunning)() && s.phaseIs("second", v1alpha1.PhaseRunning)()
		})
		return s
	},
	"capacity-of-another": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("slow", 1, 1, runs(time.Hour, "a"), saves(30)),
			jobOf("fast", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("first", 9, 1),
			urgentJob("second", 9, 1))
		s.until("one is asked", s.phaseIs("slow", v1alpha1.PhaseDraining))
		s.ends["slow"] = s.now.Add(2 * time.Second) // it is ready before the other one
		s.until("both run", func() bool {
			return s.phaseIs("first", v1alpha1.PhaseRunning)() && s.phaseIs("second", v1alpha1.PhaseRunning)()
		})
		return s
	},
	"other-gang-ends": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("suspended", 1, 1, runs(time.Hour, "a")),
			jobOf("low", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 1))
		s.job("suspended").enterAt(v1alpha1.PhaseDraining, s.now)
		s.ends["suspended"] = s.now.Add(20 * time.Second)
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"spares-finishing": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("dear", 1, 1, runs(time.Hour, "a"), saves(10)),
			jobOf("finishing", 1, 1, runs(time.Hour, "b"), finishesIn(20*time.Second)), urgentJob("urgent", 9, 1))
		s.run(20)
		s.drop("finishing")
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"min-run": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a"}, jobOf("young", 1, 1, runs(5*time.Minute, "a"), saves(10)),
			urgentJob("urgent", 9, 1))
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"min-run-of-its-class": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"},
			jobOf("guarded", 1, 1, runs(time.Hour, "a"), saves(5), minRun(2*time.Hour)),
			jobOf("other", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 1))
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"lower-job-is-held": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a", "b"}, jobOf("slow", 1, 1, runs(time.Hour, "a"), saves(40)),
			jobOf("fast", 1, 1, runs(time.Hour, "b"), saves(10)), urgentJob("urgent", 9, 2),
			jobOf("small", 1, 1, waits(0, v1alpha1.ReasonInsufficientResources)))
		s.until("one has ended", s.phaseIs("fast", v1alpha1.PhaseQueued))
		s.until("it runs", s.phaseIs("urgent", v1alpha1.PhaseRunning))
		return s
	},
	"class-is-withdrawn": func(t testing.TB) *simulation {
		s := simulate(t, []string{"a"}, jobOf("low", 1, 1, runs(time.Hour, "a"), saves(30)),
			urgentJob("urgent", 9, 1))
		s.run(1)
		s.job("urgent").Class.WaitingClass = ""
		s.run(2)
		return s
	},
}

func TestBrokerHistories(t *testing.T) {
	for name, tell := range brokerHistories {
		t.Run(name, func(t *testing.T) {
			compareHistory(t, "broker", name, tell(t).log.String())
		})
	}
}

// compareHistory with the golden file.
func compareHistory(t *testing.T, folder, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", folder, name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the history differs (-want +got):\n%s", diff)
	}
}

// TestProposalStays: after prices change, another pass would choose other victims. But the job's reconcile
// may be about to write the previous proposal. A victim in two statuses belongs to the first one.
func TestProposalStays(t *testing.T) {
	a, b := jobOf("a", 1, 1, runs(time.Hour, "a"), saves(10)), jobOf("b", 1, 1, runs(time.Hour, "b"), saves(30))
	urgent := urgentJob("urgent", 9, 1)
	cluster := func() Cluster { return Cluster{Now: now, State: full("a", "b"), Jobs: []Job{a, b, urgent}} }
	a.Reported, b.Reported = now, now
	first := Broker(brokerPolicy, cluster()).Statuses[urgent.ref()]
	a.Status.Checkpoint.SaveSeconds = 40 // now the more expensive one
	urgent.Proposed = first
	if diff := cmp.Diff(first, Broker(brokerPolicy, cluster()).Statuses[urgent.ref()]); diff != "" {
		t.Errorf("the proposal has changed (-first +second):\n%s", diff)
	}
	other := urgentJob("other", 9, 1)
	urgent.Status.Scheduling.Preemption, other.Status.Scheduling.Preemption = first, first.DeepCopy()
	orders := Broker(brokerPolicy, Cluster{Now: now, State: full("a", "b"), Jobs: []Job{a, b, urgent, other}})
	got := map[types.UID]int{}
	for _, st := range orders.Statuses {
		for _, v := range st.Victims {
			got[v.UID]++
		}
	}
	if got["a"] != 1 || got["b"] != 1 {
		t.Errorf("the victims are %v", got)
	}
}

// TestGiveBack: a quota gets back exactly what its victims no longer hold.
func TestGiveBack(t *testing.T) {
	ending := func(j *Job) { j.enter(v1alpha1.PhaseDraining, 0) }
	oneLeft := func(j *Job) { j.Pods = j.Pods[:1] }
	for name, c := range map[string]struct {
		low  Job
		want scheduler.Amounts
	}{
		"it runs": {jobOf("low", 1, 2, runs(time.Hour, "a", "b")), scheduler.Amounts{gpu: 4, "cpu": 9}},
		"it has begun to end": {
			jobOf("low", 1, 2, runs(time.Hour, "a", "b"), ending), scheduler.Amounts{gpu: 4, "cpu": 9},
		},
		"a rank is left": {
			jobOf("low", 1, 2, runs(time.Hour, "a", "b"), ending, oneLeft), scheduler.Amounts{gpu: 12},
		},
		"it has ended": {jobOf("low", 1, 2, enters(v1alpha1.PhaseQueued)), scheduler.Amounts{gpu: 20}},
	} {
		urgent := urgentJob("urgent", 9, 2)
		urgent.Status.Scheduling.Preemption = &v1alpha1.PreemptionStatus{
			Phase: v1alpha1.PreemptionAsking, Victims: []v1alpha1.PreemptionVictim{{UID: "low", Attempt: 1, GPUs: 16}},
		}
		b := &broker{round: newRound(brokerPolicy, Cluster{Jobs: []Job{c.low, urgent}}, AwaitsBroker)}
		q := &quota{free: scheduler.Amounts{gpu: 4, "cpu": 9}}
		b.giveBack(&urgent, q)
		if diff := cmp.Diff(c.want, q.free); diff != "" {
			t.Errorf("%s: left (-want +got):\n%s", name, diff)
		}
	}
}

// TestUnwrittenVictims: a victim that another status still names is not free, whether its preemptor waits or
// has been suspended. Nor does it free nodes or quota.
func TestUnwrittenVictims(t *testing.T) {
	plan := func(j *Job) {
		at := ago(0)
		j.Status.Scheduling.Preemption = &v1alpha1.PreemptionStatus{
			Phase: v1alpha1.PreemptionAsking, StartedTime: &at, PhaseTime: &at, Deadline: &at,
			Victims: []v1alpha1.PreemptionVictim{{UID: "low", Attempt: 1, Mode: v1alpha1.PreemptionKill}},
		}
	}
	suspended := func(j *Job) { j.Spec.RunPolicy.Suspend = new(true) }
	state := full("a")
	state.Nodes = append(state.Nodes, node("b", 0)) // only the quota is short
	for name, first := range map[string]Job{
		"dropped":   urgentJob("first", 8, 1, plan),
		"suspended": urgentJob("first", 8, 1, plan, suspended),
	} {
		low := jobOf("low", 1, 1, runs(time.Hour, "a"), queue("research"))
		urgent := urgentJob("urgent", 9, 1, lacksQuota("queues/research", "0"), queue("research"))
		r := newRound(brokerPolicy, Cluster{
			Now: now, State: state, Jobs: []Job{low, first, urgent},
		}, AwaitsBroker)
		quota, _ := quotaOf(&urgent)
		snapshot := r.snapshotFor(&urgent, scheduler.Of(urgent.Backend).Preemptor, quota)
		if snapshot.FitsSoon(&snapshot.Waiting[0]) {
			t.Errorf("%s: the victim frees its quota without a plan", name)
		}
		if got := r.policy.Choose(snapshot)[0]; got.Outcome != preemption.NoCover {
			t.Errorf("%s: the choice is %s of %v", name, got.Outcome, got.Plan.Victims)
		}
		snapshot.Plans = nil
		if got := r.policy.Choose(snapshot)[0]; got.Outcome != preemption.Planned {
			t.Errorf("%s: once the status is written, the choice is %s", name, got.Outcome)
		}
	}
}
