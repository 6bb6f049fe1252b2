package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// deletingPrefix hides a checkpoint while it is deleted, so that what is left of it is never taken for a
// whole one.
const deletingPrefix = ".trainingjob-deleting-"

// maxSweepDepth bounds the directories that sweep descends into.
const maxSweepDepth = 6

// retain deletes the checkpoints that checkpoint.Retain names, over all attempts of the job.
func retain(root *os.Root, jobUID string, keep checkpoint.Keep) error {
	found, err := checkpoint.Scan(root.FS(), ".", checkpoint.Options{JobUID: jobUID})
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range checkpoint.Retain(found, keep) {
		hidden := path.Join(path.Dir(f.Path), deletingPrefix+path.Base(f.Path))
		if err := root.Rename(f.Path, hidden); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, sweep(root))...)
}

// sweep removes the hidden checkpoints, also those that an earlier agent left half deleted.
func sweep(root *os.Root) error {
	var errs []error
	err := fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !e.IsDir():
			return nil
		case strings.HasPrefix(e.Name(), deletingPrefix):
			errs = append(errs, root.RemoveAll(p))
			return fs.SkipDir
		case strings.Count(p, "/") >= maxSweepDepth:
			return fs.SkipDir
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}
