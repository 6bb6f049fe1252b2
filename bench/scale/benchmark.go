package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/operator"
	"mlplatform.example.com/trainingjob-operator/bench/play"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/progress"
)

// Benchmark has the options of a benchmark.
type Benchmark struct {
	Plan []Planned
	// Idle is how long nothing happens in a step. A minute tells a thousandth of a processor: that is 60 ms,
	// and processor time is counted in steps of 10.
	Idle time.Duration
	// Operator is the binary of the TrainingJob operator, CRDs the folder of its kinds.
	Operator, CRDs string
	// Out is the folder of the results.
	Out string
	// Progress receives what is going on, line by line.
	Progress io.Writer
}

// Run plays the steps of the plan that the results do not have yet, and after each of them saves the results
// and writes the report. Where a scheduler broke, larger steps end before that phase. When ctx ends, the step
// under way is dropped; that is no error.
func (b *Benchmark) Run(ctx context.Context, results *Results) error {
	for _, p := range b.Plan {
		if results.has(p.Scheduler, p.Size) {
			continue
		}
		phases := results.bearable(p.Scheduler, p.Size)
		if len(phases) == 0 {
			fmt.Fprintf(b.Progress, "%s: %d jobs are left out: with fewer it broke at once\n", p.Scheduler,
				p.Size.Jobs())
			continue
		}
		s, err := b.play(ctx, p.Scheduler, p.Size, phases)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s with %d jobs: %w", p.Scheduler, p.Size.Jobs(), err)
		}
		results.Steps = append(results.Steps, s)
		if err := errors.Join(results.save(b.Out), results.Report(b.Out)); err != nil {
			return err
		}
	}
	return nil
}

// bearable are the phases before those in which something broke at a smaller size.
func (r *Results) bearable(scheduler string, size Size) []string {
	names := phaseNames()
	for _, s := range r.Steps {
		if s.Scheduler == scheduler && s.BrokeIn != "" && s.Size.Jobs() < size.Jobs() {
			names = names[:min(len(names), slices.Index(phaseNames(), s.BrokeIn))]
		}
	}
	return names
}

// play a step. What the operator and the scheduler fail to do is a result; an error means that the benchmark
// cannot go on.
func (b *Benchmark) play(
	ctx context.Context, scheduler string, size Size, phases []string,
) (result Step, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(dir)
	subject := fmt.Sprintf("%s, %d nodes, %d jobs", scheduler, size.Nodes, size.Jobs())
	line := progress.Start(b.Progress, subject, func(phase string, _ time.Duration) string { return phase })
	defer line.Stop()
	began := time.Now()
	result = Step{Scheduler: scheduler, Size: size}
	s := &step{Benchmark: b, dir: dir, say: line.SetPhase, result: &result}
	defer func() { s.end(context.WithoutCancel(ctx)) }()
	if err := s.begin(ctx); err != nil {
		return result, errors.Join(err, s.keepLogs())
	}
	for _, phase := range s.phases() {
		if !slices.Contains(phases, phase.name) {
			break
		}
		err := s.measure(ctx, phase)
		if errors.Is(err, errBound) || errors.Is(err, operator.ErrNotReady) {
			result.BrokeIn, result.Broke = phase.name, s.broke(phase, err)
			break
		}
		if err != nil {
			return result, errors.Join(err, s.keepLogs())
		}
		if phase.name == Idle {
			if err := s.keepHeap(ctx); err != nil {
				return result, err
			}
		}
	}
	line.Stop()
	what := "done"
	if result.Broke != "" {
		what = result.Broke
		if err := s.keepLogs(); err != nil {
			return result, err
		}
	}
	fmt.Fprintf(b.Progress, "%s: %s after %s\n", subject, what, time.Since(began).Round(time.Second))
	return result, nil
}

// broke says what a phase failed of.
func (s *step) broke(phase phase, err error) string {
	if errors.Is(err, operator.ErrNotReady) {
		return fmt.Sprintf("%s: %v", phase.name, err)
	}
	return fmt.Sprintf("%s: not within %s: %s", phase.name, phase.bound, s.seen.phases())
}

// keepHeap keeps a profile of the operator's memory where the results are.
func (s *step) keepHeap(ctx context.Context) error {
	name := fmt.Sprintf("%s-%d.heap.pb.gz", s.result.Scheduler, s.result.Size.Jobs())
	return s.operators["operator"].Heap(ctx, filepath.Join(s.Out, "profiles", name))
}

// keepLogs of a step that went wrong where the results are.
func (s *step) keepLogs() error {
	name := fmt.Sprintf("%s-%d", s.result.Scheduler, s.result.Size.Jobs())
	return play.KeepLogs(s.dir, filepath.Join(s.Out, "logs", name))
}
