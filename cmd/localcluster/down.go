package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func downCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster's processes and remove its data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := localcluster.Open(dir)
			if errors.Is(err, localcluster.ErrNoCluster) {
				fmt.Fprintf(cmd.OutOrStdout(), "There is no cluster in %s.\n", dir)
				return nil
			}
			if err != nil {
				return err
			}
			if err := cluster.Down(cmd.Context()); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The cluster in %s is deleted.\n", dir)
			return nil
		},
	}
	addDirFlag(cmd, &dir)
	return cmd
}
