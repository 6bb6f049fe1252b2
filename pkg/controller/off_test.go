package controller

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestOffIsAsBefore plays a contest in which the operator could have others make room, with that off. What
// it writes then is in testdata/off, byte for byte: an operator that knew no such thing (f679f2b8) has
// written the files, so that a change that must change them has another reason. Where it is on the same
// contest goes another way: all of this could have been different.
func TestOffIsAsBefore(t *testing.T) {
	for _, backend := range []scheduler.Backend{
		native.New(native.Options{}), volcano.New(volcano.Options{}), coscheduling.New(coscheduling.Options{}),
		kueue.New(kueue.Options{}),
	} {
		t.Run(backend.Name(), func(t *testing.T) {
			t.Parallel()
			off := playContest(t, backend, nil)
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
			for mode, planning := range map[string]*Planning{"DryRun": dryRun, "Broker": brokering} {
				if on := playContest(t, backend, planning); on == off {
					t.Errorf("mode %s changes nothing, so that it proves nothing that Off does not", mode)
				}
			}
		})
	}
}

// playContest has a job run that has the only node. One of high priority comes, of a class under which the
// operator could have others make room: it takes the place of the first, which returns after it, is
// suspended, and goes on.
func playContest(t *testing.T, backend scheduler.Backend, planning *Planning) string {
	c := newContest(t, backend, planning)
	c.submit("bert", "low")
	c.settle("a gang is made")
	c.place("bert", "a")
	c.settle("it starts")
	c.run("bert")
	c.settle("it runs")
	c.clock.Step(time.Minute)
	c.report("bert", 100, 80)
	c.settle("it trains, and has saved")
	c.submit("urgent", "high")
	c.settle("another comes, for which there is no room")
	c.wait("urgent")
	for range 4 {
		c.clock.Step(6 * time.Second)
		c.settle("it waits")
	}
	c.preempt("bert")
	c.place("urgent", "a")
	c.settle("it gets the place of the first")
	c.run("urgent")
	c.settle("and runs, and the checkpoints of the first are looked for")
	c.found("bert", 80)
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
	c.settle("its user suspends it")
	c.settle("its checkpoints are looked for")
	c.found("bert", 110)
	c.settle("it holds nothing")
	c.suspend("bert", false)
	c.settle("its user lets it go on")
	return c.log.String()
}
