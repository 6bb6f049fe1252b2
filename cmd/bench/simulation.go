package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/backfill"
)

// simulationReport is a report on gangs that are random or from traces.
type simulationReport struct {
	// name of the command above it and of the folder, short help, and what it does with the gangs.
	name, short, what string
	play              func(context.Context, backfill.Options) (saver, error)
}

// saver writes report.md in a folder.
type saver interface{ Save(dir string) error }

func newSimulationReport(r simulationReport) *cobra.Command {
	o, gangs, traces, out := backfill.Options{}, 0, []string(nil), ""
	cmd := &cobra.Command{
		Use: "report", Short: r.short,
		Long: "Report plays random gangs and the gangs of traces, " + r.what + `, and writes report.md.
The same seeds and traces give the same bytes. A trace takes some minutes.`,
		Example: fmt.Sprintf(`  bench %[1]s report
  bench %[1]s report --trace trace2.csv,trace3.csv --seeds 5 --out docs/benchmarks/%[1]s`, r.name),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Seeds < 1 || gangs < 1 {
				return errors.New("--seeds and --gangs must be above 0")
			}
			o.Progress = cmd.ErrOrStderr()
			o.Sources = []backfill.Source{backfill.Generated(gangs)}
			for _, path := range traces {
				source, err := backfill.Traced(path)
				if err != nil {
					return err
				}
				o.Sources = append(o.Sources, source)
			}
			results, err := r.play(cmd.Context(), o)
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
	flags.IntVar(&o.Seeds, "seeds", 20, "how often each setting is played, with other gangs or properties")
	flags.IntVar(&gangs, "gangs", 2000, "random gangs of a seed; the load sets the number of nodes")
	flags.StringSliceVar(&traces, "trace", nil, "also play the gangs of these CSV files (see bench/README.md)")
	flags.StringVar(&out, "out", "bench/results/"+r.name, "folder for the report")
	return cmd
}
