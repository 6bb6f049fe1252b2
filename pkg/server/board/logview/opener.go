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
	Open(ctx context.Context, rank spec.RankRef, o Options) (io.ReadCloser, error)
}

// Options of a log.
type Options struct {
	// Follow what is written from now on.
	Follow bool
	// Previous is the container's run before its last restart.
	Previous bool
	// TailLines is how many of the last lines to begin with; -1 for all.
	TailLines int64
	// Since leaves out what was written before; more than that may be left in. Zero: nothing is left out.
	Since time.Time
}
