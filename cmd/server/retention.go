package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// pruneEvery hour: retention is in days.
	pruneEvery = time.Hour
	// pruneRetry after a failure.
	pruneRetry = 5 * time.Minute
)

// pruner deletes some of the jobs that ended before a time, and returns their number; 0: none are left.
type pruner interface {
	Prune(ctx context.Context, before time.Time) (int, error)
}

// retention deletes old history. Several replicas can do this.
type retention struct {
	store pruner
	// keep is how long history is kept; 0 is forever.
	keep  time.Duration
	clock clock.WithTicker
	log   logr.Logger
}

func (r *retention) run(ctx context.Context) error {
	if r.keep == 0 {
		return nil
	}
	for {
		wait := pruneEvery
		if err := r.prune(ctx); err != nil && ctx.Err() == nil {
			r.log.Error(err, "Expired history cannot be deleted now")
			wait = pruneRetry
		}
		timer := r.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// prune deletes in parts, between which other writers use the database.
func (r *retention) prune(ctx context.Context) error {
	before := r.clock.Now().Add(-r.keep)
	for all := 0; ; {
		n, err := r.store.Prune(ctx, before)
		if err != nil {
			return err
		}
		if all += n; n == 0 {
			if all > 0 {
				r.log.Info("Deleted expired history", "jobs", all, "before",
					before.UTC().Format(time.DateTime))
			}
			return nil
		}
	}
}
