package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/preempt"
)

func newPreemptReport() *cobra.Command {
	o, traces, out := preempt.Options{}, "", ""
	cmd := &cobra.Command{
		Use: "report", Short: "Play all studies of preemption, and write their report",
		Long: `Report plays random gangs over many settings, on 1,000 nodes, and the gangs of two traces, and writes
report.md with plots. The same seeds and traces give the same bytes. It takes some minutes.`,
		Example: "  bench preempt report --traces muri-philly --out docs/benchmarks/preemption",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Seeds < 1 {
				return errors.New("--seeds must be above 0")
			}
			if traces != "" {
				o.Traces = preempt.MuriTraces(traces)
			}
			o.Progress = cmd.ErrOrStderr()
			results, err := preempt.Play(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := results.Save(out); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The report is %s.\n", filepath.Join(out, "report.md"))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Seeds, "seeds", 20, "how often each setting is played, each time with other gangs")
	flags.StringVar(&traces, "traces", "", "folder with trace2.csv and trace3.csv of the Muri artifact; "+
		"without it no trace is played")
	flags.StringVar(&out, "out", "bench/results/preemption", "folder for the report")
	return cmd
}
