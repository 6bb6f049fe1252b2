// Package panics turns the panic of one step into a value. A programming error that the data of one job
// triggers must not stop the process: that would stop every other job, and the next process as well.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Panic is what a step panicked with.
type Panic struct {
	Value any
	// Stack of the goroutine that panicked.
	Stack []byte
}

// Error implements error. It has one line and no stack.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Catch runs a step and returns its panic; nil where it did not panic.
func Catch(step func()) (caught *Panic) {
	defer func() {
		if v := recover(); v != nil {
			caught = &Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	step()
	return nil
}
