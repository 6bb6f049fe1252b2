package contention

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// oldestIsCheapest returns three gangs of a queue. The oldest is the cheapest: it does not report, and has
// just saved.
func oldestIsCheapest() []Job {
	expensive := func(j *Job) { savedAgo(50 * time.Minute)(j); j.Status.Checkpoint.SaveSeconds = 300 }
	return []Job{
		jobOf("oldest", 1, 1, admitted(3*time.Hour), savedAgo(20*time.Second)),
		jobOf("older", 1, 1, admitted(2*time.Hour), expensive),
		jobOf("young", 1, 1, admitted(time.Hour), expensive),
	}
}

var contestHistories = map[string]func(testing.TB) *contest{
	"cheapest": func(t testing.TB) *contest {
		return contend(t, 24, append(oldestIsCheapest(), jobOf("urgent", 9, 1, behindGate))...).run(40)
	},
	"lower-class-first": func(t testing.TB) *contest {
		jobs := append(oldestIsCheapest(), jobOf("lowest", 0, 1, admitted(time.Hour), savedAgo(40*time.Minute)),
			jobOf("urgent", 9, 1, behindGate))
		return contend(t, 32, jobs...).run(40)
	},
	"gate-ignored": func(t testing.TB) *contest {
		c := contend(t, 24, append(oldestIsCheapest(), jobOf("urgent", 9, 1, behindGate))...)
		c.blind = true
		return c.run(40)
	},
	"boost-ignored": func(t testing.TB) *contest {
		c := contend(t, 24, append(oldestIsCheapest(), jobOf("urgent", 9, 1, behindGate))...)
		c.deaf = true
		return c.run(40)
	},
	"only-protected": func(t testing.TB) *contest {
		return contend(t, 8, jobOf("young", 1, 1, admitted(time.Minute), savedAgo(10*time.Second)),
			jobOf("urgent", 9, 1, behindGate)).run(90)
	},
	"no-victim-in-its-queue": func(t testing.TB) *contest {
		return contend(t, 8, jobOf("peer", 9, 1, admitted(time.Hour)), jobOf("urgent", 9, 1, behindGate)).run(10)
	},
	"scheduler-does-not-follow": func(t testing.TB) *contest {
		c := contend(t, 24, append(oldestIsCheapest(), jobOf("urgent", 9, 1, behindGate))...)
		c.run(3)
		c.refuses = true
		return c.run(50)
	},
	"two-preemptors": func(t testing.TB) *contest {
		return contend(t, 24, append(oldestIsCheapest(), jobOf("urgent", 9, 1, behindGate),
			jobOf("second", 8, 1, behindGate))...).run(80)
	},
	"class-edited": func(t testing.TB) *contest {
		c := contend(t, 24, append(oldestIsCheapest(), jobOf("urgent", 9, 1, behindGate))...)
		c.run(2)
		c.job("urgent").Class.WaitingClass = ""
		return c.run(30)
	},
}

// TestContestHistories compares histories of gangs behind gates with golden files.
func TestContestHistories(t *testing.T) {
	for name, play := range contestHistories {
		t.Run(name, func(t *testing.T) { compareHistory(t, "contests", name, play(t).log.String()) })
	}
}

// If the process dies before any write, the cheapest gang still yields, no other gang ends, and no mark
// stays.
func TestContestSurvivesTheProcess(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 18))
		c := contend(t, 24, append(oldestIsCheapest(), jobOf("urgent", 9, 1, behindGate))...)
		c.loses = func() bool { return random.IntN(3) == 0 }
		c.run(100)
		log := c.log.String()
		if c.job("urgent").Status.Phase != v1alpha1.PhaseRunning || strings.Count(log, "is preempted") != 1 ||
			!strings.Contains(log, "oldest is preempted for urgent") {
			t.Fatalf("seed %d:\n%s", seed, log)
		}
		for _, j := range c.jobs {
			if j.Contest.Spared {
				t.Errorf("seed %d: %s is still spared:\n%s", seed, j.Name, log)
			}
		}
	}
}

// TestOverruled: the broker detects a scheduler that preempts gangs outside of the plan.
func TestOverruled(t *testing.T) {
	for name, want := range map[string]int{"cheapest": 0, "boost-ignored": 1, "gate-ignored": 0} {
		if got := contestHistories[name](t).overruled; got != want {
			t.Errorf("%s: %d plans are overruled, want %d", name, got, want)
		}
	}
}
