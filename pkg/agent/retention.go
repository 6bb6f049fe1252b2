package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// agentPrefix hides what the agent itself has on a volume.
const agentPrefix = ".trainingjob-"

// deletingPrefix hides a checkpoint while it is deleted, so that what is left of it is never taken for a
// whole one.
const deletingPrefix = agentPrefix + "deleting-"

// retain deletes the saves that checkpoint.Retain names, over all attempts of the job.
func (o *observer) retain(v volume, due commits) error {
	keep, err := o.opts.keep()
	if err != nil {
		return err
	}
	if later, err := laterAttempt(v, o.opts.attempt); err != nil {
		return err
	} else if later > 0 {
		return fmt.Errorf("deleting nothing: attempt %d has begun, this is attempt %d", later, o.opts.attempt)
	}
	keep.Last = due.keepLast
	keep.Committed, keep.MustSettle = o.committed, true
	keep.MustConfirm, keep.Confirmed = o.opts.server.url != "", due.confirmedStep()
	found, err := o.scanner.list(scanRequest{base: o.opts.base, dir: ".", jobUID: o.opts.jobUID})
	if err != nil {
		return err
	}
	keep.Settled = o.settled.paths(found)
	newer := checkpoint.Choose(found, nil).PassedOver
	if slices.ContainsFunc(newer, func(f checkpoint.Found) bool { return f.MissingPart }) {
		o.retainedFor = commits{} // the part may appear: try again at the next look
	}
	var errs []error
	for _, f := range checkpoint.Retain(found, keep) {
		errs = append(errs, hide(v, f.Roots()))
	}
	return errors.Join(append(errs, sweep(v))...)
}

// hide renames all parts of a save, or none of them.
func hide(v volume, roots []string) error {
	for i, root := range roots {
		err := v.root.Rename(root, hidden(root))
		if err == nil {
			continue
		}
		errs := []error{err}
		for _, done := range roots[:i] {
			errs = append(errs, v.root.Rename(hidden(done), done))
		}
		return errors.Join(errs...)
	}
	return nil
}

func hidden(p string) string { return path.Join(path.Dir(p), deletingPrefix+path.Base(p)) }

// retainIfDue deletes old saves after a newer one has settled, after the operator has acknowledged a
// commit, and after an edit of how many are kept.
//
// An agent whose attempt is over (its node is cut off, its trainer still saves) must not delete what the next
// attempt resumes from. With a report server it deletes nothing as new as the last commit that the operator
// acknowledged to it while its attempt was the job's: the next one resumes from there, or from something
// newer. Without one, the next attempt's directory tells it.
func (o *observer) retainIfDue(v volume) {
	due := o.state.commits()
	due.keepLast, due.settled = o.state.retainLast(o.opts.keepLast), o.settled.changes
	if due.keepLast == 0 || due.uri == "" || due == o.retainedFor {
		return
	}
	o.retainedFor = due // retain may reset it
	o.noteProblem("retention", o.retain(v, due))
}

// announce makes the attempt's directory, if it is not there: agents of former attempts see it.
func (o *observer) announce(v volume, dir string) {
	if o.state.retainLast(o.opts.keepLast) > 0 && !o.announced {
		err := v.root.Mkdir(dir, 0o777)
		o.announced = err == nil || errors.Is(err, fs.ErrExist)
	}
}

// laterAttempt is the number of an attempt that is later than the given one and has a directory; 0 if none
// has.
func laterAttempt(v volume, attempt int32) (later int32, err error) {
	err = walkVolume(v, ".", func(p string, e fs.DirEntry) error {
		if n := checkpoint.AttemptOf(p); n > attempt {
			later = n
		}
		return fs.SkipDir
	})
	return later, err
}

// sweep removes the hidden checkpoints, also those that an earlier agent left half deleted.
func sweep(v volume) error {
	var errs []error
	err := walkVolume(v, ".", func(p string, e fs.DirEntry) error {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), deletingPrefix) {
			return nil
		}
		errs = append(errs, v.root.RemoveAll(p))
		return fs.SkipDir
	})
	return errors.Join(append(errs, err)...)
}
