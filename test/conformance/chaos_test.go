//go:build cluster

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// A chaos run is played in rounds, each in a namespace of its own, so that a history stays short enough to
	// be read and to be kept in memory.
	faultsInRound = 400
	// Of a few faults it may be that none hits anything.
	fewestInRound = 10
	// A long run continues after failed rounds, until there are too many or one does not end.
	mostViolated = 3
)

var (
	chaosFaults = flag.Int("chaos-faults", 40, "faults on each scheduler")
	chaosSeed   = flag.Uint64("chaos-seed", 1, "what is drawn for the faults and the jobs they meet")
	chaosOn     = flag.String("chaos-on", "all", "schedulers, separated by commas")
	chaosKinds  = flag.String("chaos-kinds", "all", "faults to choose from, separated by commas")
	chaosBroker = flag.Bool("chaos-broker", false, "preempt by the broker for a part of the jobs")
	// A failed round is played again.
	chaosProgress = flag.String("chaos-progress", "",
		"folder in which the rounds without a violation are remembered, so that a run can be continued; "+
			"default none")
)

func TestChaosOnVolcano(t *testing.T) { t.Parallel(); runChaos(t, volcanoDialect()) }

func TestChaosOnNative(t *testing.T) { t.Parallel(); runChaos(t, nativeDialect()) }

func TestChaosOnCoscheduling(t *testing.T) { t.Parallel(); runChaos(t, coschedulingDialect()) }

func TestChaosOnKueue(t *testing.T) { t.Parallel(); runChaos(t, kueueDialect()) }

// runChaos runs random gangs while it injects faults, until enough faults had an effect. The rules of every
// scenario hold throughout. In the end every job that was not deleted has succeeded and left no objects.
func runChaos(t *testing.T, d *dialect) {
	if *chaosOn != "all" {
		on := strings.Split(*chaosOn, ",")
		for _, name := range on { // a slip of the pen must not pass for a run without a violation
			if !slices.Contains(crashableSchedulers, name) {
				t.Fatalf("there is no scheduler %q: choose of %v, or all", name, crashableSchedulers[1:])
			}
		}
		if !slices.Contains(on, d.name) {
			t.Logf("only %s is asked for", *chaosOn)
			return
		}
	}
	kinds, err := ParseFaults(*chaosKinds)
	if err != nil {
		t.Fatal(err)
	}
	if *chaosBroker {
		d = d.brokers()
	}
	rounds, err := openRounds(d.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rounds.file.Close(); err != nil {
			t.Error(err)
		}
	})
	cluster := clusterOf(t, d)
	defer cluster.takeTurn(d)()
	ctx, hits, begin, violated := inTime(t), Tally{}, time.Now(), 0
	amid, broker := Tally{}, BrokerTally{}
	for round := 0; hits.Total() < *chaosFaults; round++ {
		faults := max(fewestInRound, min(faultsInRound, *chaosFaults-hits.Total()))
		ended, before := rounds.held[round]
		var err error
		if !before {
			ended, err = chaosRound(ctx, cluster, d, uint64(round), faults, kinds)
			err = errors.Join(err, rounds.record(round, ended, err))
		}
		hits, amid = addCounts(hits, ended.Hits), addCounts(amid, ended.Amid)
		broker.Add(ended.Broker)
		if err != nil {
			t.Errorf("round %d of seed %d: %v", round, *chaosSeed, err)
			if violated++; violated == mostViolated || errors.Is(err, errNotCalm) || ctx.Err() != nil {
				t.Fatalf("%d rounds have failed, after %d faults", violated, hits.Total())
			}
		}
		t.Logf("round %d: %d of %d faults after %.0f s (played before: %t); %s", round, hits.Total(), *chaosFaults,
			time.Since(begin).Seconds(), before, ended)
		if err == nil && ended.Hits.Total() == 0 {
			t.Fatal("no fault hit anything")
		}
	}
	t.Logf("faults by kind: %s", hits)
	if !*chaosBroker {
		return
	}
	t.Logf("broker: %s", broker)
	t.Logf("faults during a plan: %d, by kind: %s", amid.Total(), amid)
	if err := broker.CheckActive(hits.Total()); err != nil {
		t.Error(err)
	}
}

// chaosRounds are the rounds of a seed without a violation, across runs of the suite.
type chaosRounds struct {
	file *progressFile
	held map[int]roundResult
}

// heldRound is a round without a violation.
type heldRound struct {
	Round  int         `json:"round"`
	Result roundResult `json:"result"`
}

// openRounds opens the progress file of a scheduler, for the seed and the faults of the flags.
func openRounds(scheduler string) (*chaosRounds, error) {
	path := ""
	if *chaosProgress != "" {
		path = filepath.Join(*chaosProgress,
			fmt.Sprintf("%s-seed-%d-kinds-%s-broker-%t.jsonl", scheduler, *chaosSeed, *chaosKinds, *chaosBroker))
	}
	rounds := &chaosRounds{held: map[int]roundResult{}}
	file, err := openProgressFile(path, func(line []byte) error {
		var h heldRound
		if err := json.Unmarshal(line, &h); err != nil {
			return err
		}
		rounds.held[h.Round] = h.Result
		return nil
	})
	rounds.file = file
	return rounds, err
}

// record a round without a violation.
func (r *chaosRounds) record(round int, result roundResult, violated error) error {
	if violated != nil {
		return nil
	}
	return r.file.add(heldRound{round, result})
}

// roundResult is what a round saw.
type roundResult struct {
	// Amid are those of Hits that came while the operator carried out a plan of the broker.
	Hits, Amid                             Tally
	Broker                                 BrokerTally
	Jobs, Succeeded, Deleted               int
	Preemptions, Restarts, Attempts, Kills int
}

func (r roundResult) String() string {
	s := fmt.Sprintf("%d jobs: %d succeeded, %d deleted; %d attempts, %d preemptions, %d restarts spent; "+
		"the operator died %d times", r.Jobs, r.Succeeded, r.Deleted, r.Attempts, r.Preemptions, r.Restarts,
		r.Kills)
	if *chaosBroker {
		s += "; broker: " + r.Broker.String()
	}
	return s
}

// chaosRound plays n faults in a namespace of its own. Its error includes the history.
func chaosRound(ctx context.Context, cluster *testCluster, d *dialect, round uint64, n int,
	kinds []Fault) (result roundResult, err error) {
	e, err := newEnv(ctx, cluster, d, nil)
	if err != nil {
		return result, fmt.Errorf("preparing: %w", err)
	}
	random, broker := rand.New(rand.NewPCG(*chaosSeed, round)), (*rand.Rand)(nil)
	if *chaosBroker {
		broker = rand.New(rand.NewPCG(*chaosSeed, brokerStream+round))
	}
	c := newChaos(e, random, broker)
	stop := c.remindKWOK(context.WithoutCancel(ctx))
	defer stop()
	for _, fault := range PlanFaults(random, n, kinds) {
		if err = c.strike(ctx, fault); err != nil {
			break
		}
	}
	if err == nil {
		err = c.calm(ctx)
	}
	if err != nil {
		e.noteWaits(ctx)
	}
	result = c.result()
	if closed := e.close(ctx); err == nil {
		err = closed
	}
	if err == nil {
		err = e.violationsOf(c.rules())
	}
	if err == nil && *chaosBroker {
		err = c.brokerViolations()
	}
	if err != nil {
		// Once more in the end, since what reads a long log often keeps its tail.
		err = fmt.Errorf("%w\n%s\nthe story above ends with: %w", err, e.story(), err)
	}
	return result, err
}
