// Burst answers one question: when many gangs arrive at once and all fit, how much longer than the scheduler
// alone does the operator take until every rank runs, and how many API writes does it make?
//
// On one cluster it applies the gangs as TrainingJobs and then writes the same groups and pods with a raw
// client, several times in turn. It prints ratios and counters.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func main() {
	var o options
	cmd := &cobra.Command{
		Use: "burst",
		Short: "Compare the operator with raw groups and pods on the same scheduler when many " +
			"gangs arrive at once",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.IntVar(&o.gangs, "gangs", 60, "number of gangs")
	flags.IntVar(&o.ranks, "ranks", 8, "ranks of a gang, one GPU each")
	flags.IntVar(&o.nodes, "nodes", 64, "fake nodes of 8 GPUs")
	flags.IntVar(&o.pairs, "pairs", 3, "number of runs of each way, in turn, after one pair that warms up")
	flags.StringSliceVar(&o.schedulers, "scheduler",
		[]string{localcluster.SchedulerVolcano, localcluster.SchedulerNative}, "schedulers")
	flags.StringVar(&o.operator, "operator", "bin/operator", "the operator's binary")
	flags.StringVar(&o.crds, "crds", "deploy/crd", "folder of CRDs")
	flags.StringVar(&o.out, "out", "bench/results", "folder for the summary, as JSON")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "burst:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	if need, have := o.gangs*o.ranks, o.nodes*8; need > have {
		return fmt.Errorf("%d gangs of %d ranks need %d GPUs, %d nodes have %d: raise --nodes", o.gangs,
			o.ranks, need, o.nodes, have)
	}
	dir, err := os.MkdirTemp("", "burst-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cluster, err := localcluster.Up(ctx, localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Nodes: o.nodes, Audit: true, Attached: true,
		Schedulers: o.schedulers, Progress: os.Stderr,
		CRDs: []string{o.crds},
	})
	if err != nil {
		return err
	}
	defer cluster.Down(context.WithoutCancel(ctx)) //nolint:errcheck // attached: it ends with this process
	results := newSummary(o)
	for _, scheduler := range o.schedulers {
		b := &burst{options: o, cluster: cluster, scheduler: scheduler, dir: dir}
		runs, err := b.runAll(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", scheduler, err)
		}
		results.add(scheduler, runs)
	}
	results.print(os.Stdout)
	return results.save(o.out)
}
