// Command agent runs beside a trainer in its container. It starts the trainer and does what PID 1 must do; it reads what the
// trainer says of itself, recognises its complete checkpoints, tells the operator, and hands the operator's commands over.
//
//	agent install DIR            copies itself to DIR/agent
//	agent run [flags] -- CMD     runs a trainer
//	agent resolve [flags]        finds the latest complete checkpoint on the volumes
//
// It has no cluster rights and no secret but its token. Its own trouble (a server that is gone, a full disk, a status file full
// of garbage) never ends, slows or signals the trainer: what it cannot do it says, in its next report, in the termination message
// and on stderr.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// version is set by the linker.
var version = "dev"

const usage = `usage:
  agent install DIR                copy this program to DIR/agent
  agent run [flags] -- CMD ARGS    run a trainer; see agent run --help
  agent resolve [flags]            find the latest complete checkpoint; see agent resolve --help
  agent version
`

func main() {
	// The memory is the trainer's. Two threads are enough, and a heap near its limit is collected rather than grown.
	runtime.GOMAXPROCS(min(2, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(12 << 20)
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// command returns the exit code.
func command(args []string, stdout, stderr io.Writer) int {
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
		return runCommand(args[1:], stderr)
	case "resolve":
		return resolveCommand(args[1:], stdout, stderr)
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
