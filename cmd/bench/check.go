package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/bench/report"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// checkedWorkload is what the check is made with.
const checkedWorkload = "burst"

func newCheck() *cobra.Command {
	slowed := stack.Check().Describe()
	o := runOptions{
		stacks: []string{slowed.Floor, slowed.Name}, profile: string(stack.Stock),
		workloadOptions: workloadOptions{workloads: []string{checkedWorkload}},
	}
	cmd := &cobra.Command{
		Use: "check", Short: "Check the harness itself: it must find a stack that is 20% slower on purpose",
		Long: `Check compares ` + slowed.Name + ` with ` + slowed.Floor + `, and fails where the harness
does not call it slower. A machine on which it fails is too noisy for what you want to compare: take more
rounds, or a quieter one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			results, err := o.run(cmd)
			if err != nil {
				return err
			}
			claim := report.ClaimOf(results, checkedWorkload, slowed.Name)
			if claim != stats.Slower {
				return fmt.Errorf("%s was not found to be slower than its floor: %s", slowed.Name, claim)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\nThe harness finds what is 20%% slower on this machine.\n")
			return nil
		},
	}
	o.addFlags(cmd.Flags(), 7, "bench/results/check")
	cmd.Flags().Float64Var(&o.scale, "scale", 1, "size of the workload, at most 1")
	return cmd
}
