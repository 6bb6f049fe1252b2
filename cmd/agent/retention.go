package main

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// deletingPrefix hides a checkpoint while it is deleted, so that what is left of it is never taken for a
// whole one.
const deletingPrefix = ".trainingjob-deleting-"

// retain deletes the checkpoints that checkpoint.Retain names, over all attempts of the job.
func (o *observer) retain(v volume) error {
	keep, err := o.opts.keep()
	if err != nil {
		return err
	}
	keep.Committed = o.committed
	found, err := o.scanner.list(scanRequest{base: o.opts.base, dir: ".", jobUID: o.opts.jobUID})
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range checkpoint.Retain(found, keep) {
		hidden := path.Join(path.Dir(f.Path), deletingPrefix+path.Base(f.Path))
		if err := v.root.Rename(f.Path, hidden); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, sweep(v))...)
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
