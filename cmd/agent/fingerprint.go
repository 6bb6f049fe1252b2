package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
)

// maxFingerprintFiles bounds the walk. checkpoint.Scan reports a directory with more files as a problem.
const maxFingerprintFiles = 200_000

// fingerprint hashes the names, sizes and times below a directory. Only a change of it has a meaning, so
// clocks that jump do no harm.
func fingerprint(fsys fs.FS, dir string) (uint64, error) {
	h, n := fnv.New64a(), 0
	err := fs.WalkDir(fsys, dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
			}
		}
		if n++; n > maxFingerprintFiles {
			return fs.SkipAll
		}
		if errors.Is(err, fs.ErrNotExist) && path != dir {
			return nil
		}
		return err
	})
	return h.Sum64(), err
}
