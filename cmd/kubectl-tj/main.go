// Command kubectl-tj is the plugin with which kubectl works on TrainingJobs: `kubectl tj <command>` runs it
// from the PATH. Each command is a file: its options, what it does, what it prints.
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

// Exit codes beside 0.
const (
	exitError    = 1 // the command failed, or the cluster refused
	exitUsage    = 2 // wrong flags or arguments
	exitWarnings = 3 // convert --strict: there were warnings
)

// exitError with its code. Its message may have been printed already.
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

// completer is the name under which kubectl looks for a program that completes the plugin's arguments.
const completer = "kubectl_complete-tj"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// What libraries log is not for users: what matters of it is an error or a note.
	ctrllog.SetLogger(logr.Discard())
	code := run(ctx, arguments(os.Args), streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// arguments of the program. Under the completer's name, which a link can give it, they are to be completed.
func arguments(args []string) []string {
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == completer {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

// run is the program without its process: it returns the exit code.
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
	if said := (clusterError{}); errors.As(coded.err, &said) {
		fmt.Fprintln(s.err, said)
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
	cmd.AddCommand(explainCommand(s, now), timelineCommand(s, now), queuesCommand(s, now), convertCommand(s))
	return cmd
}
