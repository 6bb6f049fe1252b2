package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/rounds"
	"mlplatform.example.com/trainingjob-operator/bench/situations"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// preemptPlayOptions are the flags of preempt play.
type preemptPlayOptions struct {
	schedulers         []string
	nodes, preemptions int
	seed               uint64
	binaries           binaryOptions
}

func newPreemptPlay() *cobra.Command {
	var o preemptPlayOptions
	cmd := &cobra.Command{
		Use: "play", Short: "Play preemptions on real schedulers, with and without checkpoint requests",
		Long: `Play fills a local cluster with gangs of low priority whose trainers are simulated, and lets gangs of
high priority come, in turns of a class for which the scheduler preempts and of one for which the operator
requests checkpoints and ends the victims. It reports the losses and the waiting times of both. Existing
records of the same versions are kept. On 2 processors 30 preemptions in each way take 20 to 45 minutes on a
scheduler.`,
		Example: "  bench preempt play --scheduler volcano --preemptions 5 --out /tmp/played",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.schedulers, "scheduler", schedulers.Brokers(), "schedulers to play on")
	flags.IntVar(&o.nodes, "nodes", 12, "nodes of 8 GPUs")
	flags.IntVar(&o.preemptions, "preemptions", 30, "in each way, on each scheduler")
	flags.Uint64Var(&o.seed, "seed", 1, "of the gangs; where they are placed is the scheduler's choice")
	o.binaries.addFlags(flags, "bench/results/preemptions")
	return cmd
}

func (o preemptPlayOptions) run(cmd *cobra.Command) error {
	if o.nodes < 1 || o.preemptions < 1 {
		return fmt.Errorf("--nodes is %d and --preemptions %d: they must be above 0", o.nodes, o.preemptions)
	}
	operator, crds, out, err := o.binaries.paths()
	if err != nil {
		return err
	}
	var records []situations.Record
	for _, scheduler := range o.schedulers {
		c := &situations.Comparison{Preemptions: o.preemptions, Ground: situations.Ground{
			Scheduler: scheduler, Nodes: o.nodes, Seed: o.seed, Operator: operator, CRDs: crds, Out: out,
			Progress: cmd.ErrOrStderr(),
		}}
		record, err := c.Run(cmd.Context())
		if err != nil {
			return fmt.Errorf("playing on %s: %w", scheduler, err)
		}
		records = append(records, record)
	}
	path, err := situations.Report(out, rounds.Machine(), records)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "\nThe report is %s.\n", path)
	return nil
}
