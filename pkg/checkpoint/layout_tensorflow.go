package checkpoint

import (
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	tfData   = regexp.MustCompile(`^(.+)\.data-([0-9]{5})-of-([0-9]{5})$`)
	tfLatest = regexp.MustCompile(`(?m)^model_checkpoint_path:\s*"([^"]*)"`)
)

const (
	tfTracker = "checkpoint"
	// A SavedModel has its bundle at variables/variables, and is complete with tfSavedModel, which is renamed
	// when it is written (tensorflow/python/saved_model/save.py).
	tfVariables  = "variables"
	tfSavedModel = "saved_model.pb"
)

func notEmpty(io.ReaderAt, int64) error { return nil }

// findTensorFlow finds bundles, NAME.index with NAME.data-0000k-of-0000n, in a directory that they share.
func (s *scanner) findTensorFlow(d *listing, _ map[string]bool) ([]Found, error) {
	names := map[string][]string{} // the files of each bundle
	for _, file := range d.files {
		name, ok := strings.CutSuffix(file, ".index")
		if m := tfData.FindStringSubmatch(file); !ok && m != nil {
			name, ok = m[1], true
		}
		if ok {
			names[name] = append(names[name], file)
		}
	}
	if len(names) > 0 && d.has(tfTracker) {
		data, err := s.read(d.at(tfTracker), 1<<20)
		if err != nil {
			return nil, err
		}
		// The state file may name a bundle that is not written yet. That bundle is torn.
		if m := tfLatest.FindStringSubmatch(string(data)); m != nil && isFile(m[1]) &&
			!strings.Contains(m[1], "/") {
			if _, ok := names[m[1]]; !ok {
				names[m[1]] = nil
			}
		}
	}
	var found []Found
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := Found{Path: d.at(name), Layout: LayoutTensorFlow, Step: stepOf(name)}
		for _, file := range names[name] {
			part, err := s.total(d.at(file), 0)
			if err != nil {
				return nil, err
			}
			f.Bytes, f.CommittedAt = f.Bytes+part.bytes, later(f.CommittedAt, part.newest)
		}
		f.setState(s.checkBundle(d, name))
		found = append(found, f)
	}
	return found, nil
}

// checkBundle checks one bundle. tensorflow/core/util/tensor_bundle writes the shards first (under names with
// .tempstate, or in a _temp directory) and the index last. The index is an SSTable that gives every tensor's
// shard, offset and length.
func (s *scanner) checkBundle(d *listing, name string) error {
	index := name + ".index"
	if !d.has(index) {
		return torn("%s is missing: it is written last", index)
	}
	if path.Base(d.path) == tfVariables && name == tfVariables {
		if err := s.checkFormat(path.Join(path.Dir(d.path), tfSavedModel), notEmpty); err != nil {
			return err
		}
	}
	var ends []int64
	err := s.checkFormat(d.at(index), func(r io.ReaderAt, size int64) (err error) {
		ends, err = bundleEnds(r, size)
		return err
	})
	if err != nil {
		return err
	}
	for i, end := range ends {
		shard := fmt.Sprintf("%s.data-%05d-of-%05d", name, i, len(ends))
		switch have, ok := d.sizes[shard]; {
		case !ok:
			return torn("%s is missing", shard)
		case have < end:
			return torn("%s has %d bytes, the index says %s", shard, have, strconv.FormatInt(end, 10))
		}
	}
	return nil
}
