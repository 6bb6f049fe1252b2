//go:build cluster

package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
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
	cluster := clusterOf(t, d)
	defer cluster.takeTurn(d)()
	ctx, hits, begin, violated := inTime(t), Tally{}, time.Now(), 0
	amid, broker := Tally{}, BrokerTally{}
	for round := 0; hits.Total() < *chaosFaults; round++ {
		faults := max(fewestInRound, min(faultsInRound, *chaosFaults-hits.Total()))
		ended, err := chaosRound(ctx, cluster, d, uint64(round), faults, kinds)
		hits, amid = addCounts(hits, ended.hits), addCounts(amid, ended.amid)
		broker.Add(ended.broker)
		if err != nil {
			t.Errorf("round %d of seed %d: %v", round, *chaosSeed, err)
			if violated++; violated == mostViolated || errors.Is(err, errNotCalm) || ctx.Err() != nil {
				t.Fatalf("%d rounds have failed, after %d faults", violated, hits.Total())
			}
		}
		t.Logf("round %d: %d of %d faults after %.0f s; %s", round, hits.Total(), *chaosFaults,
			time.Since(begin).Seconds(), ended)
		if err == nil && ended.hits.Total() == 0 {
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

// roundResult is what a round saw.
type roundResult struct {
	// amid are those of hits that came while the operator carried out a plan of the broker.
	hits, amid                             Tally
	broker                                 BrokerTally
	jobs, succeeded, deleted               int
	preemptions, restarts, attempts, kills int
}

func (r roundResult) String() string {
	s := fmt.Sprintf("%d jobs: %d succeeded, %d deleted; %d attempts, %d preemptions, %d restarts spent; "+
		"the operator died %d times", r.jobs, r.succeeded, r.deleted, r.attempts, r.preemptions, r.restarts,
		r.kills)
	if *chaosBroker {
		s += "; broker: " + r.broker.String()
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
