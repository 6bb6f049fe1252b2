package checkpoint

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const dcpMetadata = ".metadata"

func isTorchDCP(d *listing) bool {
	return d.has(dcpMetadata) ||
		slices.ContainsFunc(d.files, func(f string) bool { return strings.HasSuffix(f, ".distcp") })
}

// checkTorchDCP checks a checkpoint of torch.distributed.checkpoint. When every rank has written, rank 0
// writes .metadata.tmp and renames it (torch/distributed/checkpoint/filesystem.py, _FileSystemWriter.finish).
// In it each part of a tensor is a _StorageInfo(relative_path, offset, length): together they name every file
// and its minimum length.
func (s *scanner) checkTorchDCP(d *listing) error {
	if !d.has(dcpMetadata) {
		return torn("%s is missing: it is written last", dcpMetadata)
	}
	need, hasCommonState, err := s.dcpFiles(d.at(dcpMetadata))
	if err != nil {
		return err
	}
	if len(need) == 0 {
		return unknown("%s names no .distcp file", dcpMetadata)
	}
	names := make([]string, 0, len(need))
	for name := range need {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !fs.ValidPath(name) {
			return unknown("%s names a file outside of its directory", dcpMetadata)
		}
		info, err := fs.Stat(s.fsys, path.Join(d.path, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return torn("%s is missing", name)
		case err != nil:
			return err
		case info.Size() < need[name]:
			return torn("%s has %d bytes, %s says %d", name, info.Size(), dcpMetadata, need[name])
		}
	}
	if err := s.checkTorchDist(d, hasCommonState); err != nil || !strings.HasSuffix(d.path, ".ckpt") {
		return err
	}
	if !d.has(lightningMeta) {
		return unknown("%s is missing: Lightning writes it last", lightningMeta)
	}
	return s.checkFormat(d.at(lightningMeta), checkZip)
}

// lightningMeta is written last into a directory NAME.ckpt, and makes it one that Lightning loads
// (lightning/fabric/strategies/model_parallel.py, _is_sharded_checkpoint).
const lightningMeta = "meta.pt"

// dcpFiles returns the data files that the metadata names, each with the end of its last part, and whether it
// names the state that the ranks of Megatron share.
func (s *scanner) dcpFiles(p string) (need map[string]int64, hasCommonState bool, err error) {
	f, _, err := s.open(p)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	const class = "torch.distributed.checkpoint.filesystem"
	unfamiliar := false
	need = map[string]int64{}
	r := newPickleReader(f, func(s string) bool {
		switch s {
		case "relative_path", "offset", "length", class, "_StorageInfo":
			return true
		}
		hasCommonState = hasCommonState || strings.HasPrefix(s, mgCommonState)
		return strings.HasSuffix(s, ".distcp")
	})
	r.onBuild = func(of string, state pickleValue) {
		if of != class+"._StorageInfo" {
			return
		}
		file, offset, length := state.dict["relative_path"], state.dict["offset"], state.dict["length"]
		if file.kind != pickleText || offset.kind != pickleInt || length.kind != pickleInt ||
			offset.n < 0 || length.n < 0 || offset.n > 1<<60 || length.n > 1<<60 {
			unfamiliar = true // another writer's file names, or an unknown form: completeness cannot be judged
			return
		}
		need[file.text] = max(need[file.text], offset.n+length.n)
	}
	if err := r.run(); err != nil {
		if incomplete, ok := errors.AsType[*incompleteError](err); ok {
			return nil, false, &incompleteError{incomplete.state, dcpMetadata + " " + incomplete.why}
		}
		return nil, false, err
	}
	if unfamiliar {
		return nil, false, unknown("%s names files in a way that is not known", dcpMetadata)
	}
	return need, hasCommonState, nil
}
