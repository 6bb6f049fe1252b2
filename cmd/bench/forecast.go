package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/backfill"
	"mlplatform.example.com/trainingjob-operator/bench/forecasts"
)

func newForecast() *cobra.Command {
	cmd := &cobra.Command{Use: "forecast", Short: "Simulate forecasts of starts, and how often they hold"}
	cmd.AddCommand(newForecastReport())
	return cmd
}

func newForecastReport() *cobra.Command {
	o, gangs, traces, out := forecasts.Options{}, 0, []string(nil), ""
	cmd := &cobra.Command{
		Use: "report", Short: "Play all settings of forecasts, and write their report",
		Long: `Report plays random gangs and the gangs of traces, gives each gang that waits a forecast, and writes
report.md. The same seeds and traces give the same bytes. A trace takes some minutes.`,
		Example: `  bench forecast report
  bench forecast report --trace trace2.csv,trace3.csv --seeds 5 --out docs/benchmarks/forecast`,
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
			results, err := forecasts.Play(cmd.Context(), o)
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
	flags.StringVar(&out, "out", "bench/results/forecast", "folder for the report")
	return cmd
}
