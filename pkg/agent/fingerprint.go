package agent

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
)

// fingerprint hashes the names, sizes and times below a directory. Only a change of it has a meaning, so
// clocks that jump do no harm. The sum of the entries' hashes does not depend on their order.
func fingerprint(fsys fs.FS, dir string) (uint64, error) {
	var sum uint64
	err := walkVolume(fsys, dir, func(path string, e fs.DirEntry) error {
		if e.Name() == tracesDir {
			return fs.SkipDir
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		h := fnv.New64a()
		fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		sum += h.Sum64()
		return nil
	})
	return sum, err
}
