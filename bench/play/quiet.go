package play

import (
	"context"
	"fmt"
	"os"
	"time"
)

const (
	// QuietFor is how long nothing may be written until a cluster counts as quiet.
	QuietFor = 1500 * time.Millisecond
	// calmFor is the same before a run: what comes late from the one before has been waited for.
	calmFor = 500 * time.Millisecond
	// SettledFor is that for a cluster that is left alone next. Operators hold small changes back until they
	// have stood for a while (ours for 5 s), and those belong to the run, not to idleness.
	SettledFor = 8 * time.Second
	// quietWithin bounds the wait: some stacks always write something.
	quietWithin = 10 * time.Second
)

// AwaitQuiet waits until nothing has been written for that long, but no longer than within: then the writes
// and the processor time that follow late from a run are counted with it, and not with the next.
func AwaitQuiet(ctx context.Context, auditLog string, still, within time.Duration) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(within)
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
