package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func command() *cobra.Command {
	root := &cobra.Command{Use: "ci", Short: "Run tiers of tests", SilenceErrors: true, SilenceUsage: true}
	add := func(use, short string, args cobra.PositionalArgs, run func(*runner, []string) error) {
		root.AddCommand(&cobra.Command{Use: use, Short: short, Args: args,
			RunE: func(cmd *cobra.Command, args []string) error {
				r, err := newRunner(cmd.Context())
				if err != nil {
					return err
				}
				return run(r, args)
			}})
	}
	add("test", "Run the tests of every landing", cobra.NoArgs,
		func(r *runner, _ []string) error { return r.test() })
	add("part NAME", "Run one part of the other tests", cobra.ExactArgs(1),
		func(r *runner, args []string) error {
			part, err := r.tiers.Part(args[0])
			if err != nil {
				return err
			}
			return r.part(part)
		})
	add("all", "Run the tests of every landing, then every part", cobra.NoArgs,
		func(r *runner, _ []string) error { return r.all() })
	add("landing", "Run the parts for which a landing has time", cobra.NoArgs,
		func(r *runner, _ []string) error { return r.landing() })
	return root
}
