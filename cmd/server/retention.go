package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// pruneEvery hour: what is kept for days need not go by the minute.
	pruneEvery = time.Hour
	// pruneRetry after a failure: a database that is away is back sooner or later.
	pruneRetry = 5 * time.Minute
)

// pruner deletes a part of what ended before a time, and returns how many jobs that were; 0: none are left.
type pruner interface {
	Prune(ctx context.Context, before time.Time) (int, error)
}

// retention deletes the history that is older than it is to be kept. Several replicas may do so.
type retention struct {
	store pruner
	// keep is how long; 0 is for ever.
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
			r.log.Error(err, "The history that is over is deleted later")
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

// prune in parts, between which others get to the database.
func (r *retention) prune(ctx context.Context) error {
	before := r.clock.Now().Add(-r.keep)
	for all := 0; ; {
		n, err := r.store.Prune(ctx, before)
		if err != nil {
			return err
		}
		if all += n; n == 0 {
			if all > 0 {
				r.log.Info("Deleted history that is over", "jobs", all, "before", before.UTC().Format(time.DateTime))
			}
			return nil
		}
	}
}
