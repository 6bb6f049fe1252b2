package scale

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/operator"
	"mlplatform.example.com/trainingjob-operator/bench/play"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// namespace of all jobs.
const namespace = "scale"

// step is one size on one scheduler, under way.
type step struct {
	*Benchmark
	dir     string
	say     func(string)
	result  *Step
	cluster cluster
	client  *stack.Client
	seen    *observer
	// operators that run, by name.
	operators map[string]*operator.Process
	// stop ends the watches.
	stop context.CancelFunc
}

// begin starts the cluster and the operator.
func (s *step) begin(ctx context.Context) (err error) {
	s.say("starting a cluster")
	ours, ok := stack.Ours(dialectOf(s.result.Scheduler)).(stack.Renderer)
	if !ok {
		return errors.New("the stack of TrainingJobs renders no objects")
	}
	if s.cluster, err = s.up(ctx, ours); err != nil {
		return err
	}
	config := s.cluster.RESTConfig()
	config.UserAgent = "bench/scale"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	size := s.result.Size
	s.say(fmt.Sprintf("making %d nodes", size.Nodes))
	if err := play.Ground(ctx, clients, namespace, size.Nodes, GPUsPerNode); err != nil {
		return err
	}
	if s.client, err = stack.NewClient(ours, stack.ClientConfig(config, "bench")); err != nil {
		return err
	}
	if err := s.client.Prepare(ctx, namespace, size.GPUs()); err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if s.seen, err = observe(watching, config, namespace); err != nil {
		return err
	}
	s.operators = map[string]*operator.Process{}
	return s.startOperator(ctx, "operator", false)
}

func (s *step) startOperator(ctx context.Context, name string, elect bool) error {
	p, err := operator.Start(ctx, operator.Options{
		Binary: s.Operator, Kubeconfig: s.cluster.Kubeconfig(), Scheduler: dialectOf(s.result.Scheduler),
		Dir:  s.dir,
		Name: name, Elect: elect, ReadyWithin: 5 * time.Minute,
	})
	if err == nil {
		s.operators[name] = p
	}
	return err
}

func (s *step) killOperator(name string) error {
	p := s.operators[name]
	delete(s.operators, name)
	return p.Kill()
}

// end stops everything.
func (s *step) end(ctx context.Context) {
	if s.stop != nil {
		s.stop()
	}
	for name := range maps.Clone(s.operators) {
		_ = s.killOperator(name)
	}
	if s.cluster != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_ = s.cluster.Down(ended) // attached: what is left ends with this process
	}
}

// submit jobs as fast as the API takes them.
func (s *step) submit(ctx context.Context, jobs []workload.Gang) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stack.Connections)
	for _, job := range jobs {
		group.Go(func() error { return s.client.Submit(ctx, namespace, job) })
	}
	return group.Wait()
}

// until waits until ok, and says meanwhile how far the jobs are.
func (s *step) until(ctx context.Context, what string, ok func() bool) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for tick := time.NewTicker(time.Second); ; {
			s.say(fmt.Sprintf("%s: %s", what, s.seen.phases()))
			select {
			case <-tick.C:
			case <-waiting.Done():
				tick.Stop()
				return
			}
		}
	}()
	return s.seen.until(ctx, ok)
}

// measure a phase between two readings of everything that is counted.
func (s *step) measure(ctx context.Context, phase phase) error {
	s.say(phase.name)
	audit, err := measure.NewAuditLog(s.cluster.AuditLog())
	if err != nil {
		return err
	}
	if err := measure.ResetPeaks(); err != nil {
		return err
	}
	before, err := measure.Used()
	if err != nil {
		return err
	}
	result := Phase{Name: phase.name, Jobs: phase.jobs}
	lost, created := s.seen.disturbed()
	began := time.Now()
	bounded, cancel := context.WithTimeoutCause(ctx, phase.bound, errBound)
	defer cancel()
	if err := phase.play(bounded, &result, &before); err != nil {
		if errors.Is(context.Cause(bounded), errBound) {
			return errBound
		}
		return err
	}
	result.Seconds = time.Since(began).Seconds()
	if phase.still > 0 {
		s.say(phase.name + ": waiting until the operator writes nothing more")
		if err := s.awaitCalm(bounded, phase.still); err != nil {
			if errors.Is(context.Cause(bounded), errBound) {
				return fmt.Errorf("%w: the operator writes all the time", errBound)
			}
			return err
		}
	}
	if err := s.cluster.Err(); err != nil {
		return fmt.Errorf("%s: %w", phase.name, err)
	}
	after, err := measure.Used()
	if err != nil {
		return err
	}
	used := after.Since(before)
	result.CPU, result.PeakMemory = used.CPU, used.PeakMemory
	writes, err := audit.Since()
	if err != nil {
		return err
	}
	result.Writes, result.OperatorWrites = map[string]int{}, writes[operatorProgram]
	for agent, by := range writes {
		for _, n := range by {
			result.Writes[agent] += n
		}
	}
	lostNow, createdNow := s.seen.disturbed()
	result.Lost, result.Again = lostNow-lost, createdNow-created
	s.result.Phases = append(s.result.Phases, result)
	return nil
}

// awaitCalm waits until the operator has written nothing for so long. Others may: Volcano tells of every gang
// that waits, in every session.
func (s *step) awaitCalm(ctx context.Context, still time.Duration) error {
	audit, err := measure.NewAuditLog(s.cluster.AuditLog())
	if err != nil {
		return err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for since := time.Now(); time.Since(since) < still; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		writes, err := audit.Since()
		if err != nil {
			return err
		}
		if len(writes[operatorProgram]) > 0 {
			since = time.Now()
		}
	}
	return nil
}
