package checkpoint

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	tfData   = regexp.MustCompile(`^(.+)\.data-([0-9]{5})-of-([0-9]{5})$`)
	tfLatest = regexp.MustCompile(`(?m)^model_checkpoint_path:\s*"([^"]*)"`)
)

const tfTracker = "checkpoint"

// tensorFlow finds bundles: NAME.index and NAME.data-0000k-of-0000n. They share the directory, so none is claimed.
func (l *look) tensorFlow(d *listing, _ map[string]bool) error {
	names := map[string]bool{}
	for _, file := range d.files {
		if name, ok := strings.CutSuffix(file, ".index"); ok {
			names[name] = true
		} else if m := tfData.FindStringSubmatch(file); m != nil {
			names[m[1]] = true
		}
	}
	if len(names) > 0 && d.has(tfTracker) {
		data, err := l.read(d.at(tfTracker), 1<<20)
		if err != nil {
			return err
		}
		// The state file may be ahead of the data: what it names is then torn.
		if m := tfLatest.FindSubmatch(data); m != nil && isFile(string(m[1])) && !strings.Contains(string(m[1]), "/") {
			names[string(m[1])] = true
		}
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		f := Found{Path: d.at(name), Layout: LayoutTensorFlow, Step: stepOf(name)}
		for _, file := range d.files {
			if m := tfData.FindStringSubmatch(file); file == name+".index" || m != nil && m[1] == name {
				f.Bytes += d.sizes[file]
			}
		}
		f.judge(l.checkBundle(d, name))
		if err := l.add(f); err != nil {
			return err
		}
	}
	return nil
}

// checkBundle: tensorflow/core/util/tensor_bundle writes the shards first (under names with .tempstate, or in a _temp directory) and the
// index last. The index is an SSTable that says for every tensor in which shard it lies, where and how long.
func (l *look) checkBundle(d *listing, name string) error {
	index := name + ".index"
	if !d.has(index) {
		return torn("%s is missing: it is written last", index)
	}
	var ends []int64
	err := l.wholeFile(d.at(index), func(r io.ReaderAt, size int64) (err error) {
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
