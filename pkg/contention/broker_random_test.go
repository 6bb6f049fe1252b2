package contention

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// randomCluster has a low-priority gang on each node, with victims of every mode, and one or two preemptors.
func randomCluster(t testing.TB, r *rand.Rand) *simulation {
	var nodes []string
	var jobs []Job
	for i := range 2 + r.IntN(4) {
		nodes = append(nodes, fmt.Sprint("n", i))
		low := jobOf(fmt.Sprint("low", i), int32(r.IntN(4)), 1,
			runs(time.Duration(1+r.IntN(60))*time.Minute, nodes[i]))
		switch r.IntN(5) {
		case 0:
			finishesIn(time.Duration(r.IntN(200)) * time.Second)(&low)
		case 1, 2:
			saves(int32(1 + r.IntN(40)))(&low)
		case 3: // a silent trainer that saves by itself
			saved(time.Duration(1+r.IntN(20)) * time.Minute)(&low)
		}
		jobs = append(jobs, low) // one without checkpoints is killed
	}
	for i := range 1 + r.IntN(2) {
		jobs = append(jobs, urgentJob(fmt.Sprint("urgent", i), 4, int32(1+r.IntN(len(nodes)))))
	}
	s := simulate(t, nodes, jobs...)
	s.loses = func() bool { return r.IntN(4) == 0 }
	for _, j := range s.jobs {
		s.mute[j.Name] = r.IntN(6) == 0
	}
	return s
}

// playRandom plays a random cluster for five minutes. Processes die before they carry out an order, writes
// are lost, foreign pods take nodes, nodes fail with the gangs on them, and users delete jobs. The simulation
// checks its invariants in every pass. At the end each preemptor runs, was handed over, or is deleted. The
// function returns the counts of the first two.
func playRandom(t testing.TB, r *rand.Rand) (ran, handed int) {
	t.Helper()
	s := randomCluster(t, r)
	for range 300 {
		s.tick()
		if r.IntN(120) == 0 {
			s.failNode(s.nodes[r.IntN(len(s.nodes))], time.Duration(5+r.IntN(60))*time.Second)
		}
		if r.IntN(100) == 0 {
			s.steal(s.nodes[r.IntN(len(s.nodes))])
		}
		if r.IntN(150) == 0 && len(s.jobs) > 1 {
			s.drop(s.jobs[r.IntN(len(s.jobs))].Name)
		}
	}
	for _, j := range s.jobs {
		switch {
		case j.Value < 4:
		case j.Status.Phase == v1alpha1.PhaseRunning:
			ran++
		case j.Status.Attempt > 1:
			handed++
		default:
			t.Fatalf("%s neither runs nor was handed over:\n%s", j.Name, s.log.String())
		}
	}
	return ran, handed
}

func TestBrokerEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	ran, handed := 0, 0
	for range 150 {
		more, others := playRandom(t, r)
		ran, handed = ran+more, handed+others
	}
	t.Log(ran, handed)
	if ran < 40 || handed < 20 {
		t.Errorf("%d ran, %d were handed over", ran, handed)
	}
}

// TestBrokerFreesOneRack plays gangs that must lie within one rack, while processes die, nodes fail and
// foreign pods take nodes. The simulation checks that a plan frees one rack. On Volcano no gang is handed
// over.
func TestBrokerFreesOneRack(t *testing.T) {
	ran, waited, handed := 0, 0, 0
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 13))
		s := randomCluster(t, r)
		s.racks = map[string]string{}
		for i, name := range s.nodes {
			s.racks[name] = fmt.Sprint("rack", i/2)
		}
		on := []v1alpha1.SchedulerName{v1alpha1.SchedulerVolcano, v1alpha1.SchedulerNative}[seed%2]
		for _, j := range s.jobs {
			of(on)(j)
			j.Backend = backendOf(on)
			if j.Value == 4 {
				withinRack(j)
				*j.Spec.Replicas = min(2, *j.Spec.Replicas)
			}
		}
		for range 300 {
			s.tick()
			if r.IntN(120) == 0 {
				s.failNode(s.nodes[r.IntN(len(s.nodes))], time.Duration(5+r.IntN(60))*time.Second)
			}
			if r.IntN(100) == 0 {
				s.steal(s.nodes[r.IntN(len(s.nodes))])
			}
		}
		for _, j := range s.jobs {
			switch {
			case j.Value < 4:
			case j.Status.Phase == v1alpha1.PhaseRunning:
				ran++
			case j.Status.Attempt > 1:
				handed++
			default:
				waited++
				if on == v1alpha1.SchedulerNative {
					t.Errorf("seed %d: %s neither runs nor was handed over:\n%s", seed, j.Name, s.log.String())
				}
			}
			if on == v1alpha1.SchedulerVolcano && s.handed[j.ref()] {
				t.Errorf("seed %d: %s was handed over:\n%s", seed, j.Name, s.log.String())
			}
		}
	}
	t.Log(ran, waited, handed)
	if ran < 10 || waited < 5 || handed < 5 {
		t.Errorf("%d ran, %d wait, %d were handed over", ran, waited, handed)
	}
}

func FuzzBrokerHistories(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { playRandom(t, rand.New(rand.NewPCG(a, b))) })
}

// FuzzWrittenPlans: the broker reads plans from statuses, which others can write. It must not panic, nor
// order anything about a gang outside of the plan.
func FuzzWrittenPlans(f *testing.F) {
	a, b := jobOf("a", 1, 1, runs(time.Hour, "a"), saves(10)), jobOf("b", 1, 1, runs(time.Hour, "b"))
	for _, waiting := range []Job{
		urgentJob("urgent", 9, 2), urgentJob("urgent", 9, 1, of(v1alpha1.SchedulerNative)),
	} {
		cluster := Cluster{Now: now, State: full("a", "b"), Jobs: []Job{a, b, waiting}}
		for _, st := range Broker(brokerPolicy, cluster).Statuses {
			plan, err := json.Marshal(st)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(plan, false)
			f.Add(plan, true)
		}
	}
	f.Add([]byte(`{"phase":"Placing","round":-1,"victims":[{"uid":"gone","attempt":7,"mode":"Kill"}],`+
		`"startedTime":"2026-11-25T12:00:00Z","phaseTime":"2026-11-25T12:00:00Z",`+
		`"deadline":"2026-11-25T12:02:00Z"}`), false)
	f.Fuzz(func(t *testing.T, data []byte, proposed bool) {
		st := &v1alpha1.PreemptionStatus{}
		if json.Unmarshal(data, st) != nil {
			return
		}
		urgent := urgentJob("urgent", 9, 2)
		if urgent.Proposed = st; !proposed {
			urgent.Proposed, urgent.Status.Scheduling.Preemption = nil, st
		}
		orders := Broker(brokerPolicy, Cluster{
			Now: now, State: full("a", "b"), Jobs: []Job{a, b, urgent, urgentJob("other", 8, 1)},
		})
		for ref := range orders.GiveWay {
			if !slices.ContainsFunc(st.Victims, func(v v1alpha1.PreemptionVictim) bool {
				return refOf(&v) == ref
			}) {
				t.Errorf("%v has an order and is in no plan", ref)
			}
		}
	})
}
