package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/rounds"
	"mlplatform.example.com/trainingjob-operator/bench/scale"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
)

// scaleOptions are the flags of scale.
type scaleOptions struct {
	schedulers []string
	parts      []int
	fresh      bool
	binaries   binaryOptions
}

func newScale() *cobra.Command {
	var o scaleOptions
	cmd := &cobra.Command{
		Use: "scale", Short: "Find out how large a cluster and its queue can become, and what that costs",
		Long: `Scale fills clusters of several sizes with gangs and their queues with jobs, and measures what the
operator and the control plane need for it: to start the gangs, to queue the jobs, when nothing happens, when
gangs are preempted, when the operator is killed, and when the leader of two is. What was played by the same
commit is not played again. The full size has 1,000 nodes, 8,000 ranks and 10,000 waiting jobs; it takes hours
on 2 processors.`,
		Example: `  bench scale
  bench scale --scheduler native --part 8`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.schedulers, "scheduler", stack.Schedulers(), "schedulers to play on")
	flags.IntSliceVar(&o.parts, "part", scale.Parts(), "sizes: 8 is an eighth of the full one, 1 the full one")
	flags.BoolVar(&o.fresh, "fresh", false, "replace what is in --out")
	o.binaries.addFlags(flags, "bench/results/scale")
	return cmd
}

func (o scaleOptions) run(cmd *cobra.Command) error {
	b := &scale.Benchmark{Schedulers: o.schedulers, Idle: time.Minute, Progress: cmd.ErrOrStderr()}
	for _, name := range o.schedulers {
		if !slices.Contains(stack.Schedulers(), name) {
			return fmt.Errorf("--scheduler: there is no %q; there are %v", name, stack.Schedulers())
		}
	}
	for _, part := range o.parts {
		size, err := scale.Part(part)
		if err != nil {
			return fmt.Errorf("--part: %w", err)
		}
		b.Sizes = append(b.Sizes, size)
	}
	slices.SortFunc(b.Sizes, func(x, y scale.Size) int { return x.Jobs() - y.Jobs() })
	var err error
	if b.Operator, b.CRDs, b.Out, err = o.binaries.paths(); err != nil {
		return err
	}
	results := scale.Results{Machine: rounds.Machine()}
	if !o.fresh {
		had, err := scale.Load(b.Out)
		if err != nil {
			return err
		}
		if len(had.Steps) > 0 && had.Machine.Commit != results.Machine.Commit {
			return fmt.Errorf("%s is of commit %s, this is %s: say --fresh to replace it, or give another --out",
				b.Out, had.Machine.Commit, results.Machine.Commit)
		}
		results.Steps = had.Steps
	}
	if err := b.Run(cmd.Context(), &results); err != nil {
		return err
	}
	if len(results.Steps) == 0 {
		return errors.New("no step was played to its end")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\nThe report is %s.\n", filepath.Join(b.Out, "report.md"))
	return nil
}
