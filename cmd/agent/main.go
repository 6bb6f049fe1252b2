// Command agent runs beside a trainer in its container; see pkg/agent.
//
//	agent install DIR            copies itself to DIR/agent
//	agent run [flags] -- CMD     runs a trainer
//	agent resolve [flags]        finds the latest complete checkpoint on the volumes
//	agent mpi-launcher [flags] -- CMD    waits until the workers of MPI answer, and becomes mpirun
//	agent mpi-worker [flags] -- CMD      runs sshd for a launcher
package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"mlplatform.example.com/trainingjob-operator/pkg/agent"
)

// version is set by the linker.
var version = "dev"

func main() {
	// The memory belongs to the trainer: the agent uses two threads, and collects a heap near its limit before
	// it grows it.
	runtime.GOMAXPROCS(min(2, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(12 << 20)
	agent.Version = version
	os.Exit(agent.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}
