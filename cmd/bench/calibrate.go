package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/situations"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// calibrateOptions are the flags of calibrate.
type calibrateOptions struct {
	schedulers        []string
	nodes, situations int
	seed              uint64
	binaries          binaryOptions
}

func newCalibrate() *cobra.Command {
	var o calibrateOptions
	cmd := &cobra.Command{
		Use: "calibrate", Short: "Record the victims of the real schedulers, for the models of bench preempt",
		Long: `Calibrate fills a local cluster with gangs of low priority, submits one of high priority, and
records the nodes of all gangs and the victims. It keeps earlier records of the same versions. A test of
bench/sim compares its models with the records.`,
		Example: "  bench calibrate --scheduler volcano --situations 5 --out /tmp/records",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.schedulers, "scheduler", schedulers.Names(), "schedulers to play on")
	flags.IntVar(&o.nodes, "nodes", 12, "nodes of 8 GPUs")
	flags.IntVar(&o.situations, "situations", 30, "preemptions on each scheduler")
	flags.Uint64Var(&o.seed, "seed", 1, "of the gangs; where they are placed is the scheduler's choice")
	o.binaries.addFlags(flags, "bench/sim/records")
	return cmd
}

func (o calibrateOptions) run(cmd *cobra.Command) error {
	if o.nodes < 1 || o.situations < 1 {
		return fmt.Errorf("--nodes is %d and --situations %d: they must be above 0", o.nodes, o.situations)
	}
	for _, scheduler := range o.schedulers {
		c := &situations.Calibration{Situations: o.situations, Ground: situations.Ground{
			Scheduler: scheduler, Nodes: o.nodes, Seed: o.seed, Progress: cmd.ErrOrStderr(),
		}}
		var err error
		if c.Operator, c.CRDs, c.Out, err = o.binaries.paths(); err != nil {
			return err
		}
		if err := c.Run(cmd.Context()); err != nil {
			return fmt.Errorf("calibrating %s: %w", scheduler, err)
		}
	}
	return nil
}
