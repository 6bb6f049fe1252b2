package rounds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/report"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/progress"
)

// Benchmark has the options of a benchmark.
type Benchmark struct {
	Stacks    []stack.Stack
	Workloads []workload.Workload
	Rounds    int
	// CutFactor bounds the runs of the other stacks at so many times the floor's, but never below leastCut: what
	// is that slow needs no exact figure. Zero: only the workload's own bound counts.
	CutFactor float64
	// APIServerShare of the time is what the API server has: it is stopped for the rest of every tenth of a
	// second, as the kernel does with a program that has used up its quota of processor time. 0: always.
	APIServerShare float64
	// Cold leaves out the run that warms the machine up. For those who read counters and not times.
	Cold bool
	// Operator is the binary of the TrainingJob operator, CRDs the folder of its kinds.
	Operator, CRDs string
	// Out is the folder of the results.
	Out string
	// Progress receives what is going on, line by line.
	Progress io.Writer
}

// leastCut is the least bound of a run that CutFactor sets.
const leastCut = 25 * time.Second

// Run plays what the results do not have yet, and saves them after every run. When ctx ends they are marked
// as interrupted; that is no error.
func (b *Benchmark) Run(ctx context.Context, results *result.Results) error {
	turns := Plan(b.described(), b.Rounds)
	warm := false
	for i, t := range turns {
		missing := b.missing(results, t)
		if len(missing) == 0 {
			continue
		}
		if !warm && !b.Cold {
			b.warmUp(ctx, b.Stacks[t.Stack], smallest(missing))
			warm = true
		}
		if err := b.play(ctx, results, t, missing, fmt.Sprintf("turn %d of %d", i+1, len(turns))); err != nil {
			return err
		}
		if ctx.Err() != nil {
			results.Interrupted = true
			return b.save(results)
		}
	}
	results.Interrupted = false
	return b.save(results)
}

// warmUp plays a turn that counts for nothing: the first of all is slower than its like, since the programs
// come from the disk, to which what was built last is still being written. What goes wrong is left for the
// turn that counts to say.
func (b *Benchmark) warmUp(ctx context.Context, s stack.Stack, w workload.Workload) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	subject := fmt.Sprintf("warming up the machine: %s", s.Describe().Name)
	line := progress.Start(b.Progress, subject, func(phase string, _ time.Duration) string { return phase })
	on, err := b.take(ctx, s, dir, line.SetPhase)
	line.Stop()
	if err != nil {
		return
	}
	defer on.end(context.WithoutCancel(ctx)) //nolint:errcheck // attached: it ends with this process
	on.player.Keep, on.player.Rehearsal = true, true
	_, _ = b.playOne(ctx, on, w, fmt.Sprintf("%s: %s", subject, w.Name))
}

// smallest of the workloads, by ranks.
func smallest(workloads []workload.Workload) workload.Workload {
	return slices.MinFunc(workloads, func(a, b workload.Workload) int {
		return cmp.Compare(a.Ranks(), b.Ranks())
	})
}

// described are the stacks as the report tells of them.
func (b *Benchmark) described() []result.Stack {
	var all []result.Stack
	for _, s := range b.Stacks {
		all = append(all, s.Describe())
	}
	return all
}

// missing are the workloads of a turn that the results do not have. A run with an error is played again.
func (b *Benchmark) missing(results *result.Results, t Turn) []workload.Workload {
	have := map[string]bool{}
	for _, r := range results.Runs {
		if r.Stack == b.Stacks[t.Stack].Describe().Name && r.Round == t.Round && r.Repeat == t.Repeat &&
			r.Error == "" {
			have[r.Workload] = true
		}
	}
	var missing []workload.Workload
	for _, w := range b.Workloads {
		if !have[w.Name] {
			missing = append(missing, w)
		}
	}
	return missing
}

// play a turn. What goes wrong on the stack is a result; an error means that the benchmark cannot go on.
func (b *Benchmark) play(ctx context.Context, results *result.Results, t Turn, workloads []workload.Workload,
	position string) error {
	s := b.Stacks[t.Stack]
	name := s.Describe().Name
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	subject := fmt.Sprintf("%s: %s", position, name)
	line := progress.Start(b.Progress, subject, func(phase string, _ time.Duration) string { return phase })
	on, err := b.take(ctx, s, dir, line.SetPhase)
	line.Stop()
	if err != nil {
		return b.failed(ctx, results, t, workloads, dir, err)
	}
	defer on.end(context.WithoutCancel(ctx)) //nolint:errcheck // attached: it ends with this process
	// The largest last: the run does not clean up after it.
	slices.SortStableFunc(workloads, func(a, b workload.Workload) int {
		return cmp.Compare(a.Ranks(), b.Ranks())
	})
	for i, w := range workloads {
		on.player.Keep, on.player.Next = i == len(workloads)-1, nil
		if !on.player.Keep {
			on.player.Next = &workloads[i+1]
		}
		w.Cut = b.cut(results, t.Round, name, s.Describe().Floor, w)
		run, err := b.playOne(ctx, on, w, fmt.Sprintf("%s: %s", subject, w.Name))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return b.failed(ctx, results, t, workloads[i:], dir, err)
		}
		run.Stack, run.Round, run.Repeat = name, t.Round, t.Repeat
		if run.CutAfter > 0 { // who wonders why finds it there
			if _, err := b.keepLogs(dir, logsOf(name, t)); err != nil {
				return err
			}
		}
		replace(results, run)
		if err := b.save(results); err != nil {
			return err
		}
	}
	return nil
}

// playOne plays a workload and says what came of it.
func (b *Benchmark) playOne(ctx context.Context, on *turn, w workload.Workload,
	subject string) (result.Run, error) {
	line := progress.Start(b.Progress, subject, func(phase string, _ time.Duration) string { return phase })
	defer line.Stop()
	on.player.Say = line.SetPhase
	run, err := on.player.Play(ctx, on.namespace(), w)
	if err != nil {
		return run, err
	}
	what := fmt.Sprintf("%.1f s", run.Seconds)
	if run.CutAfter > 0 {
		what = "not within " + what
	}
	line.Stop()
	fmt.Fprintf(b.Progress, "%s: %s\n", subject, what)
	return run, nil
}

// cut is the bound of a run, see CutFactor. In the first round the floor is played first.
func (b *Benchmark) cut(results *result.Results, round int, name, floor string,
	w workload.Workload) time.Duration {
	if b.CutFactor == 0 || name == floor {
		return w.Cut
	}
	var longest float64
	for _, r := range results.Runs {
		if r.Stack == floor && r.Workload == w.Name && r.Round <= round && r.Error == "" {
			longest = max(longest, r.Seconds)
		}
	}
	if longest == 0 {
		return w.Cut
	}
	bound := time.Duration(b.CutFactor * longest * float64(time.Second))
	return min(w.Cut, max(leastCut, bound.Round(time.Second)))
}

// failed notes that workloads could not be played, and keeps the logs.
func (b *Benchmark) failed(ctx context.Context, results *result.Results, t Turn,
	workloads []workload.Workload, dir string, failure error) error {
	if ctx.Err() != nil {
		return nil
	}
	name := b.Stacks[t.Stack].Describe().Name
	logs, err := b.keepLogs(dir, logsOf(name, t))
	if err != nil {
		return errors.Join(failure, err)
	}
	fmt.Fprintf(b.Progress, "%s: %v\n  its logs are in %s\n", name, failure, logs)
	for _, w := range workloads {
		replace(results, result.Run{
			Stack: name, Workload: w.Name, Round: t.Round, Repeat: t.Repeat, Error: failure.Error(), Began: time.Now(),
		})
	}
	return b.save(results)
}

// logsOf is the folder of a turn's logs.
func logsOf(stack string, t Turn) string {
	return fmt.Sprintf("%s-round-%d", strings.ReplaceAll(stack, "/", "-"), t.Round)
}

// replace adds a run in place of an earlier one of the same turn that had an error.
func replace(results *result.Results, run result.Run) {
	for i, r := range results.Runs {
		if r.Stack == run.Stack && r.Workload == run.Workload && r.Round == run.Round && r.Repeat == run.Repeat {
			results.Runs[i] = run
			return
		}
	}
	results.Runs = append(results.Runs, run)
}

func (b *Benchmark) save(results *result.Results) error {
	return results.Save(filepath.Join(b.Out, report.ResultsFile))
}
