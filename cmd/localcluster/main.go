// Command localcluster brings a real Kubernetes control plane with fake GPU nodes up on this machine, and
// takes it down again: no containers, no root. What it does is documented in lab/localcluster. Each command
// is a file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Exit codes beside 0.
const (
	exitError     = 1 // the command failed
	exitUnhealthy = 3 // status: a process or a node of the cluster is dead
	exitNoCluster = 4 // status: there is no cluster
)

// exitCode is an error whose message has been printed already.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	var code exitCode
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil:
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		os.Exit(exitError)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "localcluster",
		Short:         "A real Kubernetes control plane with fake GPU nodes on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(
		upCommand(), withProcesses(downCommand(), stopProcesses), withProcesses(statusCommand(), tellProcesses),
		buildCommand(), demoCommand(), boardCommand(), trainersCommand(),
	)
	return cmd
}

// addDirFlag gives a command the flag for the cluster's directory.
func addDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", localcluster.DefaultDir,
		"directory of the cluster: its data, logs and kubeconfig")
}
