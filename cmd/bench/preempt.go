package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/preempt"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// preemptOptions are the flags of preempt.
type preemptOptions struct {
	shape     sim.Shape
	intervals []time.Duration
	seeds     int
	trace     string
	rows      []int
}

func newPreempt() *cobra.Command {
	var o preemptOptions
	cmd := &cobra.Command{
		Use: "preempt", Short: "Simulate what each way to choose victims loses, and what asking them first saves",
		Long: `Preempt plays random gangs on a simulated cluster, the same for every way, and compares what is lost:
the schedulers' own orders of victims, modelled on their sources, and pkg/preemption, the operator's planner
(preemption.mode in its configuration). Nothing but the choice of victims differs. A ratio of 1 is what the
first way loses with the same gangs.`,
		Example: `  bench preempt
  bench preempt --nodes 1000 --interval 10m,1h --cooperation 0.5
  bench preempt --trace trace2.csv --rows 2044,228 --load 0.8`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags, s := cmd.Flags(), &o.shape
	*s = preempt.Base()
	flags.IntVar(&s.Nodes, "nodes", s.Nodes, "nodes of 8 GPUs")
	flags.DurationVar(&s.For, "for", s.For, "how long gangs arrive")
	flags.Float64Var(&s.Load, "load", s.Load, "their work, as a share of what the GPUs can do")
	flags.Float64Var(&s.High, "high", s.High, "share of gangs that may preempt others, from 0 to 1")
	flags.DurationSliceVar(&o.intervals, "interval",
		[]time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour},
		"between two checkpoints; each is played alone")
	flags.DurationVar(&s.Save, "save", s.Save, "how long a checkpoint takes")
	flags.DurationVar(&s.Start, "start", s.Start, "how long a start takes until the first step")
	flags.Float64Var(&s.Cooperation, "cooperation", s.Cooperation, "share of gangs that save on request")
	flags.Float64Var(&s.SaveAtEnd, "save-at-end", s.SaveAtEnd, "share of gangs that save at SIGTERM")
	flags.StringVar(&o.trace, "trace", "", "play the gangs of a trace, a CSV file (see bench/README.md), in "+
		"place of random ones; it is repeated in other phases until the load is reached")
	flags.IntSliceVar(&o.rows, "rows", []int{0, 0}, "of the trace: the first row, and how many; 0,0: all")
	flags.IntVar(&o.seeds, "seeds", 20, "how often, each time with other gangs")
	cmd.AddCommand(newPreemptReport(), newPreemptPlay())
	return cmd
}

func (o preemptOptions) validate() error {
	s := &o.shape
	for flag, n := range map[string]float64{
		"nodes": float64(s.Nodes), "seeds": float64(o.seeds), "load": s.Load, "for": s.For.Seconds(),
		"save": s.Save.Seconds(), "interval": float64(len(o.intervals)),
	} {
		if n <= 0 {
			return fmt.Errorf("--%s must be above 0", flag)
		}
	}
	for _, interval := range o.intervals {
		if interval <= 0 {
			return fmt.Errorf("--interval is %s: it must be above 0", interval)
		}
	}
	for flag, share := range map[string]float64{
		"high": s.High, "cooperation": s.Cooperation, "save-at-end": s.SaveAtEnd,
	} {
		if share < 0 || share > 1 {
			return fmt.Errorf("--%s is %g: it must be from 0 to 1", flag, share)
		}
	}
	if s.Start < 0 {
		return fmt.Errorf("--start is %s: it must not be below 0", s.Start)
	}
	return nil
}

func (o preemptOptions) run(cmd *cobra.Command) error {
	if err := o.validate(); err != nil {
		return err
	}
	gangs, err := o.gangs()
	if err != nil {
		return err
	}
	for _, interval := range o.intervals {
		o.shape.Interval = interval
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "\nA checkpoint every %s:\n\n", interval)
		if err := preempt.Write(out, sim.Sweep(o.shape, gangs(o.shape), sim.Ways(), o.seeds)); err != nil {
			return err
		}
	}
	return nil
}

// gangs of a seed, by the shape.
func (o preemptOptions) gangs() (func(sim.Shape) func(uint64) []sim.Job, error) {
	if o.trace == "" {
		return func(s sim.Shape) func(uint64) []sim.Job {
			return func(seed uint64) []sim.Job { return sim.Generate(s, seed) }
		}, nil
	}
	const firstAndCount = 2
	if len(o.rows) != firstAndCount {
		return nil, errors.New("--rows takes two numbers: the first row, and how many")
	}
	file, err := os.Open(o.trace)
	if err != nil {
		return nil, fmt.Errorf("opening the trace: %w", err)
	}
	defer file.Close()
	trace, err := workload.ReadTrace(file, o.trace, sim.TraceOptions(o.shape, o.rows[0], o.rows[1]))
	if err != nil {
		return nil, err
	}
	return func(s sim.Shape) func(uint64) []sim.Job {
		return func(seed uint64) []sim.Job { return sim.Repeat(trace, s, seed) }
	}, nil
}
