package checkpoint

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const dcpMetadata = ".metadata"

func looksTorchDCP(d *listing) bool {
	return d.has(dcpMetadata) || slices.ContainsFunc(d.files, func(f string) bool { return strings.HasSuffix(f, ".distcp") })
}

// checkTorchDCP: rank 0 writes .metadata.tmp when every rank has written, and renames it (torch/distributed/checkpoint/filesystem.py,
// _FileSystemWriter.finish). In it each tensor's part is a _StorageInfo(relative_path, offset, length): together they name
// every file and the least length that it must have.
func (l *look) checkTorchDCP(d *listing, _ *Found) error {
	if !d.has(dcpMetadata) {
		return torn("%s is missing: it is written last", dcpMetadata)
	}
	need, err := l.dcpFiles(d.at(dcpMetadata))
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
		info, err := fs.Stat(l.fsys, path.Join(d.path, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return torn("%s is missing", name)
		case err != nil:
			return err
		case info.Size() < need[name]:
			return torn("%s has %d bytes, %s says %d", name, info.Size(), dcpMetadata, need[name])
		}
	}
	return nil
}

// dcpFiles is every data file that the metadata names, with the end of its last part.
func (l *look) dcpFiles(p string) (map[string]int64, error) {
	f, err := l.fsys.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const class = "torch.distributed.checkpoint.filesystem"
	need, strange := map[string]int64{}, false
	r := newPickleReader(f, func(s string) bool {
		switch s {
		case "relative_path", "offset", "length", class, "_StorageInfo":
			return true
		}
		return strings.HasSuffix(s, ".distcp")
	})
	r.build = func(of string, state pickleValue) {
		if of != class+"._StorageInfo" {
			return
		}
		file, offset, length := state.dict["relative_path"], state.dict["offset"], state.dict["length"]
		if file.kind != pickleText || offset.kind != pickleInt || length.kind != pickleInt ||
			offset.n < 0 || length.n < 0 || offset.n > 1<<60 || length.n > 1<<60 {
			strange = true // another writer's names, or a form that we do not know: then we cannot vouch for it
			return
		}
		need[file.text] = max(need[file.text], offset.n+length.n)
	}
	if err := r.run(); err != nil {
		var fd *finding
		if errors.As(err, &fd) {
			return nil, &finding{fd.state, dcpMetadata + " " + fd.why}
		}
		return nil, err
	}
	if strange {
		return nil, unknown("%s names files in a way that is not known", dcpMetadata)
	}
	return need, nil
}
