package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/rounds"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// runOptions are the flags of run.
type runOptions struct {
	stacks         []string
	rounds         int
	cutFactor      float64
	apiServer      float64
	resume         bool
	profile        string
	configurations []string
	binaryOptions
	workloadOptions
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run", Short: "Play workloads on stacks in rounds, and write a report", Args: cobra.NoArgs,
		Long: `Run builds what is missing and plays every workload on every stack, each stack on a fresh
cluster of its own, in rounds. Ctrl-C ends it: what was measured until then is reported.`,
		Example: `  bench run --quick
  bench run --stack raw/volcano,ours/volcano,volcano-job --workload burst
  bench run --stack ours --workload my-workload.yaml --rounds 7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := o.run(cmd)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.stacks, "stack", nil,
		`stacks as "bench list" names them; raw and ours mean those on every scheduler (default: those of the set)`)
	flags.StringVar(&o.profile, "profile", string(stack.Stock),
		"limits of the peers' programs: stock, as they are released, or equal, as high as ours")
	flags.StringArrayVar(&o.configurations, "configuration", nil,
		"name=scheduler:file, a scheduler's configuration to compare: each chosen stack on it runs with it, too")
	flags.Float64Var(&o.cutFactor, "cut", 2,
		"end a run that takes so many times as long as the raw one (at least 25 s); 0: only at its own bound")
	flags.Float64Var(&o.apiServer, "api-server", 0,
		"make the machine slow on purpose: the share of the time that the API server has, such as 0.5")
	o.addFlags(flags, 3, "bench/results")
	o.workloadOptions.addFlags(flags)
	return cmd
}

// addFlags that every command has that plays something.
func (o *runOptions) addFlags(flags *pflag.FlagSet, rounds int, out string) {
	flags.IntVar(&o.rounds, "rounds", rounds, "number of rounds; with fewer than 3 nothing is claimed")
	flags.BoolVar(&o.resume, "resume", false, "go on with what is in --out, which must be the same benchmark")
	o.binaryOptions.addFlags(flags, out)
}

func (o runOptions) run(cmd *cobra.Command) (result.Results, error) {
	b, err := o.benchmark(cmd.ErrOrStderr())
	if err != nil {
		return result.Results{}, err
	}
	results, err := o.results(b)
	if err != nil {
		return results, err
	}
	if err := b.Run(cmd.Context(), &results); err != nil {
		return results, err
	}
	if len(results.Runs) == 0 {
		return results, context.Cause(cmd.Context())
	}
	if err := finish(cmd.OutOrStdout(), b.Out, results); err != nil {
		return results, err
	}
	if results.Interrupted {
		fmt.Fprintln(cmd.OutOrStdout(), "It was interrupted; the same command with --resume continues.")
	}
	return results, nil
}

func (o runOptions) benchmark(progress io.Writer) (*rounds.Benchmark, error) {
	workloads, err := o.load()
	if err != nil {
		return nil, err
	}
	names := o.stacks
	if len(names) == 0 {
		names = o.defaultStacks()
	}
	stacks, err := stack.Named(names, stack.Profile(o.profile))
	if err != nil {
		return nil, err
	}
	var configurations []stack.Configuration
	for _, text := range o.configurations {
		c, err := stack.ParseConfiguration(text)
		if err != nil {
			return nil, fmt.Errorf("--configuration: %w", err)
		}
		configurations = append(configurations, c)
	}
	if stacks, err = stack.WithConfigurations(stacks, configurations); err != nil {
		return nil, fmt.Errorf("--configuration: %w", err)
	}
	if p := stack.Profile(o.profile); p != stack.Stock && p != stack.Equal {
		return nil, fmt.Errorf("--profile is %q: say %s or %s", o.profile, stack.Stock, stack.Equal)
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("--rounds is %d: there must be one at least", o.rounds)
	}
	if o.apiServer < 0 || o.apiServer >= 1 {
		return nil, fmt.Errorf("--api-server is %g: say the share of the time that it has, below 1; 0: always",
			o.apiServer)
	}
	b := &rounds.Benchmark{
		Stacks: stacks, Workloads: workloads, Rounds: o.rounds, CutFactor: o.cutFactor,
		APIServerShare: o.apiServer, Progress: progress,
	}
	if b.Operator, b.CRDs, b.Out, err = o.paths(); err != nil {
		return nil, err
	}
	return b, nil
}

// results to begin with: none, or with --resume those of the same benchmark.
func (o runOptions) results(b *rounds.Benchmark) (result.Results, error) {
	fresh := b.Results()
	had, err := load(b.Out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fresh, nil
	case !o.resume:
		fmt.Fprintf(b.Progress, "the content of %s is replaced (--resume continues it)\n", o.out)
		return fresh, nil
	case err != nil:
		return had, err
	case had.Machine.APIServerShare != fresh.Machine.APIServerShare:
		return had, fmt.Errorf("%s is of another --api-server: give the same one, or another --out", o.out)
	case had.Machine.Commit != fresh.Machine.Commit:
		return had, fmt.Errorf("%s is of commit %s, this is %s: results of different commits cannot be joined",
			o.out, had.Machine.Commit, fresh.Machine.Commit)
	case !slices.Equal(namesOf(had.Stacks), namesOf(fresh.Stacks)), !slices.EqualFunc(had.Workloads,
		fresh.Workloads, func(a, b result.Workload) bool { return a.Name == b.Name && a.Gangs == b.Gangs }):
		return had, fmt.Errorf("%s has other stacks or workloads: give the same ones, or another --out", o.out)
	}
	fresh.Runs = had.Runs
	return fresh, nil
}

func namesOf(stacks []result.Stack) []string {
	var names []string
	for _, s := range stacks {
		names = append(names, s.Name)
	}
	return names
}

// defaultStacks of a set: few in the quick one, everything in the full one.
func (o runOptions) defaultStacks() []string {
	switch workload.Set(o.set) {
	case workload.SetQuick:
		return []string{"raw/volcano", "ours/volcano", "volcano-job"}
	case workload.SetFull:
		return []string{"raw", "ours", "trainer", "volcano-job", "kueue-job", "kueue-jobset", "kueue-trainer"}
	default:
		return []string{"raw", "ours", "trainer", "volcano-job"}
	}
}
