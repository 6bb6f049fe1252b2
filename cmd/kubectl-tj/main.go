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
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

// Exit codes beside 0.
const (
	exitError    = 1 // the command failed
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run is the program without its process: it returns the exit code.
func run(ctx context.Context, args []string, s streams) int {
	cmd := newCommand(s)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	coded := codedError{code: exitUsage, err: err} // cobra's own errors are about flags and arguments
	errors.As(err, &coded)
	if coded.err != nil {
		fmt.Fprintln(s.err, "error:", coded.err)
	}
	return coded.code
}

func newCommand(s streams) *cobra.Command {
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
	cmd.AddCommand(convertCommand(s))
	return cmd
}
