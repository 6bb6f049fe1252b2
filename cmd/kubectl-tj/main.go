// Command kubectl-tj is kubectl's plugin for TrainingJobs: `kubectl tj <command>` runs it from the PATH. Each
// command has a file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// version is set by the linker.
var version = "dev"

// Exit codes other than 0.
const (
	exitError    = 1 // the command failed, or the cluster refused
	exitUsage    = 2 // wrong flags or arguments
	exitWarnings = 3 // convert --strict: there were warnings

	exitRehearsalFailed     = 4 // rehearse: a check failed
	exitRehearsalIncomplete = 5 // rehearse: no result, or an incomplete one
)

// codedError is an error with an exit code.
type codedError struct {
	code int
	err  error // nil: printed already
}

func (e codedError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e codedError) Unwrap() error { return e.err }

// streams are where a command reads and prints.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// completer is the name of the program that kubectl runs to complete the plugin's arguments.
const completer = "kubectl_complete-tj"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Logs of libraries are not for users; commands print errors and notes.
	ctrllog.SetLogger(logr.Discard())
	code := run(ctx, arguments(os.Args), streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// arguments returns the program's arguments; under the completer's name, as a request to complete them.
func arguments(args []string) []string {
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == completer {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

// run returns the exit code of the program.
func run(ctx context.Context, args []string, s streams) int {
	return runAt(ctx, args, s, clock.RealClock{})
}

func runAt(ctx context.Context, args []string, s streams, now clock.PassiveClock) int {
	cmd := newCommand(s, now)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(klog.NewContext(ctx, logr.Discard()))
	if err == nil {
		return 0
	}
	coded := codedError{code: exitUsage, err: err} // cobra's own errors are about flags and arguments
	errors.As(err, &coded)
	if remedied := (clusterError{}); errors.As(coded.err, &remedied) {
		fmt.Fprintln(s.err, remedied)
	} else if coded.err != nil {
		fmt.Fprintln(s.err, "error:", coded.err)
	}
	return coded.code
}

func newCommand(s streams, now clock.PassiveClock) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "kubectl-tj",
		Short:         "Work on TrainingJobs",
		Version:       version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl tj"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.AddCommand(explainCommand(s, now), whenCommand(s, now), timelineCommand(s, now), queuesCommand(s, now),
		rehearseCommand(s, now), convertCommand(s))
	return cmd
}
