package main

import (
	"context"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/backfill"
	"mlplatform.example.com/trainingjob-operator/bench/forecasts"
)

func newForecast() *cobra.Command {
	cmd := &cobra.Command{Use: "forecast", Short: "Simulate forecasts of starts, and how often they hold"}
	cmd.AddCommand(newSimulationReport(simulationReport{
		name: "forecast", short: "Play all settings of forecasts, and write their report",
		what: "gives each gang that waits a forecast",
		play: func(ctx context.Context, o backfill.Options) (saver, error) {
			r, err := forecasts.Play(ctx, forecasts.Options(o))
			return &r, err
		},
	}))
	return cmd
}
