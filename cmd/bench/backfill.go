package main

import (
	"context"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/backfill"
)

func newBackfill() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backfill", Short: "Simulate capacity that is reserved for large gangs, and what it costs the others",
	}
	cmd.AddCommand(newSimulationReport(simulationReport{
		name: "backfill", short: "Play all settings of reservations, and write their report",
		what: "reserves capacity for large ones or not",
		play: func(ctx context.Context, o backfill.Options) (saver, error) {
			r, err := backfill.Play(ctx, o)
			return &r, err
		},
	}))
	return cmd
}
