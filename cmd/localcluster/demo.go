package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/lab/demo"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// exitStory is demo's exit code when the story was played to its end and did not hold.
const exitStory = 2

func demoCommand() *cobra.Command {
	options := demo.Options{In: os.Stdin, Out: os.Stdout, Progress: os.Stderr}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a story with three gangs: one waits, one preempts, all finish",
		Long: fmt.Sprintf(`Play the story of examples/demo on a local cluster of 4 nodes with 8 GPUs: a gang
waits while only some of its ranks fit, starts when all of them fit, is preempted as
a unit by a gang of higher priority, and runs again.

A cluster that is up and runs the scheduler is used, otherwise one is brought up.
A cluster without it that an earlier demo left is ended first; one that "up" made
is not touched. The cluster stays, with operator and server, until
"bin/localcluster down". The server's board shows the story in a browser.

Exit codes: 0 the story held, %d it did not, %d it could not be played.`, exitStory, exitError),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding the binaries: %w", err)
			}
			options.Trainers = self
			options.Operator = cmp.Or(options.Operator, filepath.Join(filepath.Dir(self), "operator"))
			options.Server = cmp.Or(options.Server, filepath.Join(filepath.Dir(self), "server"))
			err = demo.Run(cmd.Context(), options)
			if errors.Is(err, demo.ErrNotHeld) {
				fmt.Fprintln(os.Stderr, "localcluster:", err)
				return exitCode(exitStory)
			}
			return err
		},
	}
	addDirFlag(cmd, &options.Dir)
	addModulesFlag(cmd, &options.Modules)
	flags := cmd.Flags()
	flags.StringVar(&options.Scheduler, "scheduler", localcluster.SchedulerVolcano,
		"gang scheduler to play on: "+strings.Join(schedulers.Names(), ", "))
	flags.StringVar((*string)(&options.Preemption), "preemption", "",
		"who chooses the victims of the urgent gang: operator, which lets them save first, but not on kueue;\n"+
			"or scheduler (default: operator where possible)")
	flags.StringVar(&options.Operator, "operator", "", "the operator's binary (default: next to this one)")
	flags.StringVar(&options.Server, "server", "", "the server's binary (default: next to this one)")
	flags.BoolVar(&options.Down, "down", false, "end what the demo started when the story is over")
	return cmd
}

// withProcesses lets a command deal with what a demo left running beside the cluster before it does its own
// work.
func withProcesses(
	cmd *cobra.Command, deal func(*cobra.Command, *localcluster.Cluster) error,
) *cobra.Command {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		cluster, err := localcluster.Open(cmd.Flag("dir").Value.String())
		if errors.Is(err, localcluster.ErrNoCluster) {
			return nil
		}
		if err != nil {
			return err
		}
		return deal(cmd, cluster)
	}
	return cmd
}

// stopProcesses ends the API server's clients before it.
func stopProcesses(cmd *cobra.Command, cluster *localcluster.Cluster) error {
	return demo.StopProcesses(cmd.Context(), cluster)
}

// tellProcesses says which run.
func tellProcesses(cmd *cobra.Command, cluster *localcluster.Cluster) error {
	all, err := demo.Processes(cluster)
	for _, p := range all {
		fmt.Fprintf(cmd.OutOrStdout(), "The %s runs (pid %d); its log: %s\n", p.Name, p.PID, p.Log)
	}
	if len(all) > 0 {
		fmt.Fprintln(cmd.OutOrStdout())
	}
	return err
}
