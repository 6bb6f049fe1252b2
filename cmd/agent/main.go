// Command agent runs beside a trainer in its container. It starts the trainer and does the duties of PID
// 1. It reads the trainer's status file, recognises complete checkpoints, reports both to the operator,
// and hands the operator's commands to the trainer.
//
//	agent install DIR            copies itself to DIR/agent
//	agent run [flags] -- CMD     runs a trainer
//	agent resolve [flags]        finds the latest complete checkpoint on the volumes
//	agent mpi-launcher [flags] -- CMD    waits until the workers of MPI answer, and becomes mpirun
//	agent mpi-worker [flags] -- CMD      runs sshd for a launcher
//
// It looks at volumes by a child process of its own, so that no file can take the trainer with it.
//
// It has no rights in the cluster and no secret but its token. Its own problems (a server that is gone, a
// full disk, a malformed status file) never end, slow down or signal the trainer. It names them in its
// next report, in the termination message and on stderr.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

const usage = `usage:
  agent install DIR                copy this program to DIR/agent
  agent run [flags] -- CMD ARGS    run a trainer; see agent run --help
  agent resume                     print what a process that starts now resumes from
  agent resolve [flags]            find the latest complete checkpoint; see agent resolve --help
  agent mpi-launcher [flags] -- CMD ARGS   run mpirun once all workers answer
  agent mpi-worker [flags] -- CMD ARGS     run sshd
  agent version
`

func main() {
	// The memory belongs to the trainer: two threads are enough, and a heap near its limit is collected, not
	// grown.
	runtime.GOMAXPROCS(min(2, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(12 << 20)
	os.Exit(dispatch(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// dispatch runs a subcommand and returns the exit code.
func dispatch(args []string, env func(string) string, stdout, stderr io.Writer) int {
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
		fmt.Fprintln(stdout, version)
		return 0
	case "help", "--help", "-h":
		fmt.Fprint(stdout, usage)
		return 0
	}
	fmt.Fprint(stderr, usage)
	return 2
}
