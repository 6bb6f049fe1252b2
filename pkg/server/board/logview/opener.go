package logview

import (
	"context"
	"io"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Opener opens the logs of one job's ranks with the rights of a caller.
type Opener interface {
	// Open a rank's log. Each line begins with its time, as in kubectl logs --timestamps. The reader ends
	// with the context. Errors are converted with problem.Of. The caller must close it.
	Open(ctx context.Context, rank spec.RankRef, o Options) (Log, error)
}

// Log of a rank.
type Log struct {
	io.ReadCloser
	// Pod is the UID of the pod that writes it; empty if unknown.
	Pod string
}

// Options of a log.
type Options struct {
	// Follow new lines.
	Follow bool
	// Previous is the container's run before its last restart.
	Previous bool
	// TailLines is the number of last lines to begin with; -1 for all.
	TailLines int64
	// After is the position to begin after. The zero value is before all lines.
	After Position
}

// Since returns a time: lines of the pod before it can be left out. Zero: none.
func (o *Options) Since(pod string) time.Time { return o.After.in(pod).Time }
