package play

import (
	"context"
	"fmt"
	"os"
	"time"
)

const (
	// quietFor is how long nothing may be written until a cluster counts as quiet.
	quietFor = 1500 * time.Millisecond
	// calmFor is the same before a run: what comes late from the one before has been waited for.
	calmFor = 500 * time.Millisecond
	// settledFor is that for a cluster that is left alone next. Operators hold small changes back until they
	// have stood for a while (ours for 5 s), and those belong to the run, not to idleness.
	settledFor = 8 * time.Second
	// quietWithin bounds the wait: some stacks always write something.
	quietWithin = 10 * time.Second
)

// awaitQuiet waits until nothing has been written for that long, so that the writes and the processor time
// that follow late from a run are counted with it, and not with the next.
func awaitQuiet(ctx context.Context, auditLog string, still time.Duration) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(quietWithin)
	size, since := int64(-1), time.Now()
	for now := time.Now(); now.Before(deadline) && now.Sub(since) < still; now = time.Now() {
		info, err := os.Stat(auditLog)
		if err != nil {
			return fmt.Errorf("finding the audit log: %w", err)
		}
		if info.Size() != size {
			size, since = info.Size(), now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
