package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/rounds"
	"mlplatform.example.com/trainingjob-operator/bench/scale"
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
the operator is killed, when the leader of two is, and when gangs are preempted. What was played by the same
commit is not played again. The full size has 1,000 nodes, 8,000 ranks and 10,000 waiting jobs. On the
scheduler "` + scale.Simulated + `" everything but the operator is simulated, and the full size
is 10,000 nodes, 80,000 ranks and 90,000 waiting jobs. All of it takes hours on 2 processors.`,
		Example: `  bench scale
  bench scale --scheduler native --part 8
  bench scale --scheduler ` + scale.Simulated + ` --part 100`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.schedulers, "scheduler", scale.Schedulers(), "schedulers to play on")
	flags.IntSliceVar(&o.parts, "part", scale.Parts(), "sizes: 8 is an eighth of the full one, 1 the full one")
	flags.BoolVar(&o.fresh, "fresh", false, "replace what is in --out")
	o.binaries.addFlags(flags, "bench/results/scale")
	return cmd
}

func (o scaleOptions) run(cmd *cobra.Command) error {
	plan, err := scale.Plan(o.schedulers, o.parts)
	if err != nil {
		return err
	}
	b := &scale.Benchmark{Plan: plan, Idle: time.Minute, Progress: cmd.ErrOrStderr()}
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
