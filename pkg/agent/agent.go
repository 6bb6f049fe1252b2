// Package agent is the program that runs beside a trainer in its container. It starts the trainer and does
// the duties of PID 1. It reads the trainer's status file, recognizes complete checkpoints, reports both to
// the operator, and passes the operator's commands to the trainer. Where the operator watches the ranks, the
// agent of each posts beats: how far its trainer is, and what its container does (progress.go, idle.go).
//
// The agent has no rights in the cluster and no secret except its token. Its own problems (an unreachable
// server, a full disk, a malformed status file) never end, slow down or signal the trainer. The agent lists
// them in its next report, in the termination message and on stderr.
//
// A child process of the agent reads the volumes, so that no file can end the agent or the trainer.
package agent

import (
	"fmt"
	"io"
)

// Version of the agent, as "agent version" and the reports give it. The program sets it before Main.
var Version = "dev"

const usage = `usage:
  agent install DIR                copy this program to DIR/agent
  agent run [flags] -- CMD ARGS    run a trainer; see agent run --help
  agent resume                     print what a process that starts now resumes from
  agent resolve [flags]            find the latest complete checkpoint; see agent resolve --help
  agent mpi-launcher [flags] -- CMD ARGS   run mpirun once all workers answer
  agent mpi-worker [flags] -- CMD ARGS     run sshd
  agent version
`

// Main runs the subcommand that args begin with, and returns the exit code.
func Main(args []string, env func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	switch args[0] {
	case "install":
		if len(args) != 2 {
			fmt.Fprint(stderr, usage)
			return 2
		}
		if err := install(args[1]); err != nil {
			fmt.Fprintln(stderr, "agent:", err)
			return 1
		}
		return 0
	case "run":
		return runCommand(args[1:], env, stderr)
	case "resume":
		return resumeCommand(args[1:], env, stdout, stderr)
	case "resolve":
		return resolveCommand(args[1:], env, stdout, stderr)
	case mpiLauncherCommand, mpiWorkerCommand:
		return mpiCommand(args[0], args[1:], stderr)
	case scanCommand:
		return scanChild(args[1:], stdout, stderr)
	case "version", "--version":
		fmt.Fprintln(stdout, Version)
		return 0
	case "help", "--help", "-h":
		fmt.Fprint(stdout, usage)
		return 0
	}
	fmt.Fprint(stderr, usage)
	return 2
}
