package controller

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestPreemptionOffWritesNothingNew plays a contest in which the operator could choose victims, with
// preemption.mode Off. No write has a field that belongs to it, and the writes are those in testdata/off, one
// in each line.
func TestPreemptionOffWritesNothingNew(t *testing.T) {
	for _, backend := range []scheduler.Backend{
		native.New(native.Options{}), volcano.New(volcano.Options{}), coscheduling.New(coscheduling.Options{}),
		kueue.New(kueue.Options{}),
	} {
		t.Run(backend.Name(), func(t *testing.T) {
			t.Parallel()
			c := newContest(t, backend, nil)
			c.play()
			off := c.log.String()
			golden := filepath.Join("testdata", "off", backend.Name()+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(off), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(before), off); diff != "" {
				t.Errorf("(-before +now):\n%s", diff)
			}
			if len(c.traces) > 0 {
				t.Errorf("written although preemption is off: %q", c.traces)
			}
			verifyModesDiffer(t, backend)
		})
	}
}

// verifyModesDiffer plays the contest in the other modes until a gang waits for bert's nodes. In a dry run
// the status names bert as the victim. As the broker the operator requests a checkpoint of bert, or closes
// the gate behind which Kueue does not preempt.
func verifyModesDiffer(t *testing.T, backend scheduler.Backend) {
	t.Helper()
	dry, broker := newContest(t, backend, dryRun), newContest(t, backend, brokering)
	dry.untilOneWaits()
	broker.untilOneWaits()
	if len(broker.traces) == 0 {
		t.Error("the broker writes no field by which its writes could be recognized")
	}
	planned, asked := dry.jobNamed("urgent").Status.Scheduling, broker.jobNamed("urgent").Status.Scheduling
	if backend.Name() == kueue.Name {
		if !asked.PreemptionGate || planned.PreemptionGate {
			t.Errorf("only a broker closes Kueue's gate: %+v, and without %+v", asked, planned)
		}
		return
	}
	if p := planned.Preemption; p == nil || len(p.Victims) != 1 || p.Victims[0].Name != "bert" || p.Phase != "" {
		t.Errorf("a dry run plans %+v", p)
	}
	if p := asked.Preemption; p == nil || len(p.Victims) != 1 || p.Victims[0].AskTime == nil {
		t.Errorf("a broker plans %+v", p)
	}
	if d := broker.jobNamed("bert").Status.Drain; d == nil || d.Cause != v1alpha1.CauseBrokered {
		t.Errorf("a broker asks bert: %+v", d)
	}
}

// play lets the second gang take the place of the first, which returns after it, is suspended, and resumes.
func (c *contest) play() {
	c.t.Helper()
	c.untilOneWaits()
	c.preempt("bert")
	c.place("urgent", "a")
	c.settle("it gets the place of the first")
	c.run("urgent")
	c.settle("and runs, and the checkpoints of the first are looked for")
	c.search("bert")
	c.settle("which waits again")
	c.wait("bert")
	c.clock.Step(time.Minute)
	c.settle("and says why")
	c.succeed("urgent")
	c.place("bert", "a")
	c.settle("the other has trained all")
	c.run("bert")
	c.settle("the first runs again")
	c.suspend("bert", true)
	c.settle("its user suspends it, and its checkpoints are looked for")
	c.search("bert")
	c.settle("it holds nothing")
	c.suspend("bert", false)
	c.settle("its user lets it go on")
}

// untilOneWaits runs a job on the only node, and submits one of high priority, whose class lets the operator
// preempt others.
func (c *contest) untilOneWaits() {
	c.t.Helper()
	c.submit("bert", "low")
	c.settle("a gang is made")
	c.place("bert", "a")
	c.settle("it starts")
	c.run("bert")
	c.settle("it runs")
	c.clock.Step(time.Minute)
	c.report("bert", 10, 0)
	c.settle("it trains")
	c.clock.Step(15 * time.Minute) // a gang that has run for less is protected
	c.report("bert", 100, 80)
	c.settle("it has saved")
	c.submit("urgent", "high")
	c.settle("another comes, which does not fit")
	c.wait("urgent")
	for range 4 {
		c.clock.Step(6 * time.Second)
		c.settle("it waits")
	}
}
