package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func buildCommand() *cobra.Command {
	options := localcluster.BuildOptions{}
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the cluster's binaries into the cache and start nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Progress = cmd.ErrOrStderr()
			built, err := localcluster.Build(cmd.Context(), options)
			if err != nil {
				return err
			}
			for _, component := range slices.Sorted(maps.Keys(built)) {
				fmt.Fprintf(cmd.OutOrStdout(), "%-17s %s\n", component, built[component])
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&options.Schedulers, "scheduler", nil, "gang schedulers to build (default: all)")
	cmd.Flags().StringSliceVar(&options.AddOns, "add-on", nil,
		"operators to build that benchmarks compare with ours: jobset, trainer")
	cmd.Flags().BoolVar(&options.RealNode, "real-node", false,
		"also build what a node with a real kubelet needs")
	addModulesFlag(cmd, &options.Modules)
	return cmd
}
