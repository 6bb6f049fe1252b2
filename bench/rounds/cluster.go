package rounds

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/play"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// turn is a stack that runs on a cluster of its own.
type turn struct {
	cluster *localcluster.Cluster
	session stack.Session
	player  play.Player
	played  int
	// slowing ends with the turn: see Benchmark.APIServerShare.
	slowing context.CancelFunc
}

// nodeGracePeriod makes heartbeats rare. Those of hundreds of nodes would take a part of the machine and be
// counted as work that gangs cause. Nodes that fail in a workload are deleted, so no scheduler waits for this
// period.
const nodeGracePeriod = 10 * time.Minute

// take starts a cluster and the stack on it, in dir, and lets it play a little: what every process does once
// (compiling the CRDs' rules, opening connections, growing caches) belongs to no workload.
func (b *Benchmark) take(ctx context.Context, s stack.Stack, dir string, say func(string)) (*turn, error) {
	t := &turn{}
	if err := b.start(ctx, t, s, dir, say); err != nil {
		t.end(context.WithoutCancel(ctx)) //nolint:errcheck // the first error tells more
		return nil, err
	}
	return t, nil
}

func (b *Benchmark) start(ctx context.Context, t *turn, s stack.Stack, dir string,
	say func(string)) (err error) {
	say("starting a cluster")
	options := localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Creator: "bench", Nodes: -1, Audit: true, Attached: true,
		CRDs: []string{b.CRDs}, NodeGracePeriod: nodeGracePeriod,
	}
	s.Cluster(&options)
	t.cluster, err = localcluster.Up(ctx, options)
	if err != nil {
		return err
	}
	t.slowing = b.slowAPIServer(ctx)
	say("starting " + s.Describe().Title)
	t.session, err = s.Start(ctx, stack.Environment{Cluster: t.cluster, Operator: b.Operator, Dir: dir})
	if err != nil {
		return fmt.Errorf("starting the stack: %w", err)
	}
	config := t.cluster.RESTConfig()
	config.UserAgent = "bench/play"
	t.player = play.Player{Config: config, AuditLog: t.cluster.AuditLog(), Session: t.session}
	t.player.Say = func(what string) { say("warming up: " + what) }
	t.player.Rehearsal = true
	if _, err := t.player.Play(ctx, t.namespace(), warmUp()); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	t.player.Rehearsal = false
	return nil
}

// apiServerPeriod is the kernel's default period for quotas of processor time.
const apiServerPeriod = 100 * time.Millisecond

// slowAPIServer until what it returns is called, which returns when the API server is as fast as ever.
func (b *Benchmark) slowAPIServer(ctx context.Context) context.CancelFunc {
	slow := b.APIServerShare
	if slow == 0 {
		return nil
	}
	slowing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var over sync.WaitGroup
	over.Go(func() {
		stack.StandStill(slowing, func() ([]int, error) { return measure.PIDsOf("kube-apiserver") },
			apiServerPeriod, time.Duration((1-slow)*float64(apiServerPeriod)))
	})
	return func() {
		stop()
		over.Wait()
	}
}

// warmUp is a burst of a few gangs of every priority.
func warmUp() workload.Workload {
	w := workload.Workload{
		Name: "warm-up", Question: "What does every process do once?", Nodes: 16, GPUsPerNode: 8,
		End: workload.EndPlaced, Cut: 3 * time.Minute,
	}
	classes := []workload.Priority{workload.PriorityLow, workload.PriorityNormal, workload.PriorityHigh}
	for i := range 6 {
		w.Gangs = append(w.Gangs, workload.Gang{
			Name: fmt.Sprintf("warm-%02d", i), Ranks: 8, GPUs: 1, Priority: classes[i%len(classes)],
		})
	}
	return w
}

// namespace is new for every workload, since deleting one takes its time.
func (t *turn) namespace() string {
	t.played++
	return fmt.Sprintf("bench-%d", t.played)
}

func (t *turn) end(ctx context.Context) error {
	var first error
	if t.slowing != nil {
		t.slowing()
	}
	if t.session != nil {
		first = t.session.Stop()
	}
	if t.cluster != nil {
		// The cluster is no longer needed, and some programs take half a minute to end on request.
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := t.cluster.Down(ended); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// keepLogs copies the logs of a turn that went wrong to where the results are.
func (b *Benchmark) keepLogs(dir, name string) (string, error) {
	to := filepath.Join(b.Out, "logs", name)
	return to, play.KeepLogs(dir, to)
}
