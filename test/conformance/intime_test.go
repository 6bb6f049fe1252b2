//go:build cluster

package conformance

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// lastWords is how long before the end of go test's -timeout a test gives up. When that ends, Go tells only
// where each goroutine is: not what was waited for, nor what has failed before.
const lastWords = 5 * time.Minute

// inTime is the context of a test, which ends in time for the test to tell what it waited for.
func inTime(t *testing.T) context.Context {
	t.Helper()
	deadline, ok := t.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, cancel := context.WithDeadlineCause(t.Context(), deadline.Add(-lastWords),
		errors.New("the time of all tests, -timeout, is over"))
	t.Cleanup(cancel)
	return ctx
}

// watchHangs ends the tests shortly before Go does if something waits without a bound, and tells what.
func watchHangs() {
	timeout := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if timeout <= lastWords {
		return
	}
	time.AfterFunc(timeout-lastWords/5, func() {
		fmt.Fprintf(os.Stderr, "a test hangs; the goroutines of the tests are:\n%s\n", goroutines())
		os.Exit(1) // its clusters end with it
	})
}

// goroutines returns the stacks of goroutines that run code of this package, without duplicates.
func goroutines() string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	var ours []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, reflect.TypeFor[Env]().PkgPath()+".") {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}
