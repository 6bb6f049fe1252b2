package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

func upCommand() *cobra.Command {
	// A demo ends clusters that a demo brought up, and no others.
	options := localcluster.Options{Creator: "up"}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing and bring a cluster up",
		Long: `Build what is missing and bring a cluster up.

The first build takes about a quarter of an hour on two cores, and is kept in the
user's cache folder; after that a cluster is ready within seconds. The processes
stay until "bin/localcluster down".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Progress = cmd.ErrOrStderr()
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the program that plays trainers: %w", err)
			}
			options.Trainers = self
			cluster, err := localcluster.Up(cmd.Context(), options)
			if errors.Is(err, localcluster.ErrRunning) {
				fmt.Fprintf(cmd.OutOrStdout(), "The cluster in %s is already up; nothing was changed.\n", cluster.Dir())
			} else if err != nil {
				return err
			}
			return tellNextSteps(cmd.OutOrStdout(), cluster)
		},
	}
	addDirFlag(cmd, &options.Dir)
	flags := cmd.Flags()
	flags.StringSliceVar(&options.Schedulers, "scheduler", schedulers.Together(), "gang schedulers to run")
	flags.StringSliceVar(&options.AddOns, "add-on", nil,
		"operators to run with them: jobset, trainer (Kubeflow's, with jobset)")
	flags.IntVar(&options.Nodes, "nodes", 4, "number of fake nodes")
	flags.IntVar(&options.GPUsPerNode, "gpus", 8, "GPUs of each node (nvidia.com/gpu)")
	flags.StringVar(&options.CPUPerNode, "cpu", "96", "CPUs of each node")
	flags.StringVar(&options.MemoryPerNode, "memory", "1Ti", "memory of each node")
	flags.DurationVar(&options.NodeGracePeriod, "node-grace-period", 12*time.Second,
		"how long after its last heartbeat a node is NotReady")
	flags.BoolVar(&options.Audit, "audit", false, "write each write request to an audit log")
	addModulesFlag(cmd, &options.Modules)
	return cmd
}

// addModulesFlag gives a command the flag for the folder lab/modules.
func addModulesFlag(cmd *cobra.Command, modules *string) {
	cmd.Flags().StringVar(modules, "modules", "",
		"the folder lab/modules (default: found from the working directory)")
}

func tellNextSteps(out io.Writer, cluster *localcluster.Cluster) error {
	_, err := fmt.Fprintf(out, `
Use it:    export KUBECONFIG=%s
           alias kubectl=%s
           kubectl get nodes
Logs:      %s
`, cluster.Kubeconfig(), cluster.Kubectl(), cluster.LogDir())
	if audit := cluster.AuditLog(); audit != "" {
		fmt.Fprintf(out, "Audit:     %s\n", audit)
	}
	fmt.Fprintf(out, "Stop it:   %s\n", localcluster.DownCommand(cluster.Dir()))
	return err
}
