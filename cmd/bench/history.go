package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/history"
)

// historyOptions are the flags of history.
type historyOptions struct {
	attempts, runs int
	databases      []string
	dir            string
}

func newHistory() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use: "history", Short: "Measure the pages and reports of a server whose history is long",
		Long: `History fills an empty SQLite and an empty PostgreSQL with a year of jobs, and measures how long the store of
the server needs for each page and report. PostgreSQL is Debian's (test/e2e/install.sh installs it), started for
the occasion. Filling both with a million attempts takes a quarter of an hour on 2 processors.`,
		Example: `  bench history
  bench history --attempts 50000 --database sqlite`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.IntVar(&o.attempts, "attempts", 1_000_000, "attempts in the history, about")
	flags.IntVar(&o.runs, "runs", 21, "how often each question is asked")
	flags.StringSliceVar(&o.databases, "database", history.Databases(), "databases to measure")
	flags.StringVar(&o.dir, "dir", "", "existing folder for SQLite's file, which stays (default: a temporary one)")
	return cmd
}

func (o historyOptions) run(cmd *cobra.Command) error {
	if o.attempts < 1 || o.runs < 1 {
		return fmt.Errorf("--attempts %d, --runs %d: give at least 1", o.attempts, o.runs)
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "bench-history-")
		if err != nil {
			return fmt.Errorf("making a folder for SQLite: %w", err)
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	var all []history.Time
	for _, database := range o.databases {
		times, err := history.Run(cmd.Context(), history.Options{
			Database: database, Attempts: o.attempts, Runs: o.runs, Dir: o.dir, Progress: cmd.ErrOrStderr(),
		})
		if err != nil {
			return fmt.Errorf("measuring %s: %w", database, err)
		}
		all = append(all, times...)
	}
	return history.Print(cmd.OutOrStdout(), all)
}
