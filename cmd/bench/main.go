// Command bench runs gangs on the local control plane in several ways and compares them: the TrainingJob
// operator, the same groups and pods written raw, and other operators for gangs. See bench/README.md. Each
// command is a file.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)  // the second Ctrl-C ends it at once, as where a simulation is under way
	log.SetLogger(logr.Discard()) // what goes wrong is returned
	klog.SetLogger(logr.Discard())
	cmd := &cobra.Command{
		Use: "bench", Short: "Compare ways of running gangs on a local control plane with fake nodes",
		SilenceUsage: true, SilenceErrors: true,
	}
	cmd.AddCommand(newRun(), newReport(), newList(), newCheck(), newScale(), newPreempt(), newHistory(),
		newBoard(), newCalibrate(), newBackfill(), newForecast())
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
