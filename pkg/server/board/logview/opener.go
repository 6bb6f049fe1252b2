package logview

import (
	"context"
	"io"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Opener opens the logs of one job's ranks with the rights of a caller.
type Opener interface {
	// Open a rank's log. Each line begins with its time, as kubectl logs --timestamps has it. The reader ends
	// with the context. Errors are told as problem.Of does. The caller must close it.
	Open(ctx context.Context, rank spec.RankRef, o Options) (Log, error)
}

// Log of a rank.
type Log struct {
	io.ReadCloser
	// Pod is the UID of the pod that writes it; empty where that is unknown.
	Pod string
}

// Options of a log.
type Options struct {
	// Follow what is written from now on.
	Follow bool
	// Previous is the container's run before its last restart.
	Previous bool
	// TailLines is how many of the last lines to begin with; -1 for all.
	TailLines int64
	// After is how far the log was read. The zero one is before all lines.
	After Position
}

// Since is the time before which what a pod wrote is left out; more than that may be left in. Zero: nothing
// is left out.
func (o *Options) Since(pod string) time.Time { return o.After.in(pod).Time }
