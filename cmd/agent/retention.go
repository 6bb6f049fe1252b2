package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// doomed is what a checkpoint is called while it is deleted: hidden, so that half of it is never taken for a whole one.
const doomed = ".trainingjob-deleting-"

// retain deletes what checkpoint.Retain names, over all attempts.
func retain(root *os.Root, o *options) error {
	found, err := checkpoint.Scan(root.FS(), ".", checkpoint.Options{JobUID: o.jobUID})
	if err != nil {
		return err
	}
	keep := checkpoint.Keep{Last: o.keepLast, Pinned: o.pinnedPath(), Attempt: o.attempt}
	if o.pinned != "" && keep.Pinned == "" {
		return fmt.Errorf("deleting nothing: the resume point %s does not lie under %s", checkpoint.Printable(o.pinned, 100), o.base)
	}
	var errs []error
	for _, f := range checkpoint.Retain(found, keep) {
		hidden := path.Join(path.Dir(f.Path), doomed+path.Base(f.Path))
		if err := root.Rename(f.Path, hidden); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, sweep(root))...)
}

// sweep removes what is doomed, also what an agent before this one left half deleted.
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
		case strings.HasPrefix(e.Name(), doomed):
			errs = append(errs, root.RemoveAll(p))
			return fs.SkipDir
		case strings.Count(p, "/") >= 6:
			return fs.SkipDir
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}
