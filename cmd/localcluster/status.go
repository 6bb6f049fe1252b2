package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func statusCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the cluster's processes and nodes",
		Long: fmt.Sprintf(`Show the cluster's processes and nodes.

Exit codes: 0 all is well, %d something is dead, %d there is no cluster.`, exitUnhealthy, exitNoCluster),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := localcluster.Open(dir)
			if errors.Is(err, localcluster.ErrNoCluster) {
				fmt.Fprintf(cmd.OutOrStdout(), "There is no cluster in %s.\n", dir)
				return exitCode(exitNoCluster)
			}
			if err != nil {
				return err
			}
			status := cluster.Status(cmd.Context())
			if err := printStatus(cmd.OutOrStdout(), status, time.Now()); err != nil {
				return err
			}
			if !status.Healthy() {
				fmt.Fprintf(cmd.OutOrStdout(), "\nNot all is well. Logs: %s\nTo end it: %s\n",
					cluster.LogDir(), localcluster.DownCommand(cluster.Dir()))
				return exitCode(exitUnhealthy)
			}
			return nil
		},
	}
	addDirFlag(cmd, &dir)
	return cmd
}

func printStatus(out io.Writer, status localcluster.Status, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PROCESS\tPID\tSTATE\tUPTIME")
	for _, p := range status.Processes {
		state, uptime := "Dead", "-"
		switch {
		case p.Running:
			state, uptime = "Running", duration.HumanDuration(now.Sub(p.Started))
		case p.Stopped:
			state = "Stopped"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", p.Name, p.PID, state, uptime)
	}
	fmt.Fprintln(table)
	if status.APIError != nil {
		fmt.Fprintf(table, "The nodes cannot be read: %v\n", status.APIError)
		return table.Flush()
	}
	fmt.Fprintln(table, "NODE\tREADY\tGPUS")
	for _, node := range status.Nodes {
		ready := "No"
		if node.Ready {
			ready = "Yes"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\n", node.Name, ready, node.GPUs)
	}
	return table.Flush()
}
