package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/rounds"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// runOptions are the flags of run.
type runOptions struct {
	stacks, workloads   []string
	rounds              int
	operator, crds, out string
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run", Short: "Play workloads on stacks, in rounds", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.stacks, "stack", []string{"raw", "ours"}, "stacks to compare")
	flags.StringSliceVar(&o.workloads, "workload", nil, "workloads to play")
	flags.IntVar(&o.rounds, "rounds", 3, "number of rounds")
	flags.StringVar(&o.operator, "operator", "bin/operator", "the operator's binary")
	flags.StringVar(&o.crds, "crds", "deploy/crd", "folder of CRDs")
	flags.StringVar(&o.out, "out", "bench/results", "folder for the results")
	return cmd
}

func (o runOptions) run(ctx context.Context) error {
	stacks, err := stack.Named(o.stacks)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return err
	}
	b := &rounds.Benchmark{
		Stacks: stacks, Workloads: smoke(), Rounds: o.rounds, CutFactor: 10,
		Operator: o.operator, CRDs: o.crds, Out: out, Progress: os.Stderr,
	}
	results := &result.Results{Version: result.Version, Machine: rounds.Machine(), Rounds: o.rounds}
	if err := b.Run(ctx, results); err != nil {
		return err
	}
	for _, r := range results.Runs {
		fmt.Println(r.Stack, r.Workload, r.Round, r.Seconds, r.Error, "held", r.HeldIncomplete, "lost", r.LostGPUSeconds, "busy", r.BusyGPUSeconds)
		fmt.Println("  ", r.Writes)
		fmt.Println("  ", r.CPU)
	}
	return nil
}

func smoke() []workload.Workload {
	w := workload.Workload{Name: "smoke", Nodes: 4, GPUsPerNode: 8, End: workload.EndFinished, Cut: 2 * time.Minute}
	for i := range 4 {
		w.Gangs = append(w.Gangs, workload.Gang{Name: fmt.Sprintf("low-%d", i), Ranks: 8, GPUs: 1, Priority: workload.PriorityLow, Train: 20 * time.Second, Checkpoint: 3 * time.Second})
	}
	for i := range 2 {
		w.Gangs = append(w.Gangs, workload.Gang{Name: fmt.Sprintf("high-%d", i), Ranks: 4, GPUs: 2, Priority: workload.PriorityHigh, At: 5 * time.Second, Train: 5 * time.Second, Checkpoint: 2 * time.Second})
	}
	return []workload.Workload{w}
}
