package main

import (
	"context"
	"fmt"
	"reflect"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// follow prints each change of a job's explanation until the job ends or is deleted, or the context ends. An
// interrupt is not an error.
func (o *explainOptions) follow(ctx context.Context, c connected, name string) error {
	f := &follower{explainOptions: o, client: c}
	seen := func(job *v1alpha1.TrainingJob) error { return f.printChange(ctx, job) }
	w := jobWatch{client: c, name: name, seen: seen}
	deleted, err := w.run(ctx)
	if deleted {
		fmt.Fprintf(f.err, "%s/%s was deleted\n", c.namespace, name)
	}
	return err
}

// follower of one job.
type follower struct {
	*explainOptions
	client connected
	// printed is the last explanation; nil before the first.
	printed *explain.Explanation
}

// printChange prints the explanation unless it equals the last one.
func (f *follower) printChange(ctx context.Context, job *v1alpha1.TrainingJob) error {
	e := f.explanation(ctx, f.client, job)
	shown := e
	timeless(&e)
	if f.printed != nil && reflect.DeepEqual(*f.printed, e) {
		return nil
	}
	if f.printed != nil {
		if err := f.separate(); err != nil {
			return err
		}
	}
	f.printed = &e
	return f.show(job, shown)
}

// separate prints a separator between two explanations.
func (f *follower) separate() error {
	with := map[string]string{"": "\n", "yaml": "---\n"}[f.format] // JSON values need no separator
	if _, err := fmt.Fprint(f.out, with); err != nil {
		return codedError{exitError, fmt.Errorf("printing: %w", err)}
	}
	return nil
}

// timeless clears the durations and times that change even if the job does not.
func timeless(e *explain.Explanation) {
	e.ForSeconds = 0
	if e.Blocker != nil {
		e.Blocker.Observed = nil
	}
	if e.Preemption != nil {
		e.Preemption.Observed = nil
	}
	if e.Liveness != nil && e.Liveness.State != v1alpha1.LivenessHung {
		e.Liveness.LastProgress, e.Liveness.Step = nil, nil
	}
}
