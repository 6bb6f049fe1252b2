package checkpoint

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// findSingleFiles finds checkpoints that are one file: Lightning, Keras, torch.save.
func (s *scanner) findSingleFiles(d *listing, _ map[string]bool) ([]Found, error) {
	var found []Found
	isShardIndex := func(f string) bool { return strings.HasSuffix(f, ".weights.json") }
	sharded := slices.ContainsFunc(d.files, isShardIndex)
	for _, name := range d.files {
		f := Found{Path: d.at(name), Step: stepOf(name)}
		switch {
		case strings.HasPrefix(name, "."):
			continue
		case strings.HasSuffix(name, ".ckpt"):
			f.Layout = LayoutLightning
			err := s.checkLightning(&f)
			if err == nil {
				err = checkUnfinished(d, name)
			}
			f.setState(err)
		case strings.HasSuffix(name, ".keras"):
			f.Layout = LayoutKeras
			f.setState(s.checkFormat(f.Path, checkKeras))
		case strings.HasSuffix(name, ".weights.h5"):
			f.Layout = LayoutKeras
			f.setState(s.checkWeights(f.Path, sharded))
		case strings.HasSuffix(name, ".pt"), strings.HasSuffix(name, ".pth"):
			f.Layout = LayoutTorchSave
			err := s.checkFormat(f.Path, checkZip)
			if err == nil {
				err = unknown("torch.save without a manifest: no file lists the parts of the save; write %s last",
					ManifestName)
			}
			f.setState(err)
		default:
			continue
		}
		found = append(found, f)
	}
	return found, nil
}

// checkLightning checks a .ckpt file: one torch.save of everything (lightning/fabric/utilities/cloud_io.py,
// _atomic_save), named {epoch}-{step} by default. last.ckpt has its step inside, as global_step.
func (s *scanner) checkLightning(f *Found) error {
	if f.Step = namedStepOf(path.Base(f.Path)); f.Step != noStep {
		return s.checkFormat(f.Path, checkZip)
	}
	// A name that is one number, such as 03.ckpt, may be the epoch: what the file says inside decides.
	return s.checkFormat(f.Path, func(r io.ReaderAt, size int64) error {
		ints, err := torchInts(r, size, "global_step")
		if incomplete, ok := errors.AsType[*incompleteError](err); ok && incomplete.state == Unknown {
			// The pickle cannot be followed, but the file may be whole.
			err = checkZip(r, size)
		}
		if n, ok := ints["global_step"]; ok && n >= 0 {
			f.Step = n
		}
		return err
	})
}

// checkKeras checks a .keras file: a zip with the three members that keras/src/saving/saving_lib.py writes.
func checkKeras(r io.ReaderAt, size int64) error {
	want := []string{"config.json", "metadata.json", "model.weights"}
	err := zipMembers(r, size, func(m zipMember) bool {
		want = slices.DeleteFunc(want, func(w string) bool { return strings.HasPrefix(m.name, w) })
		return len(want) > 0
	})
	if err != nil {
		if incomplete, ok := errors.AsType[*incompleteError](err); ok && incomplete.state == Unknown {
			return torn("is no zip")
		}
		return err
	}
	if len(want) > 0 {
		return torn("has no %s in it", want[0])
	}
	return nil
}

// checkWeights checks a .weights.h5 file. Keras splits large weights into shards that a .weights.json names.
// That form is not supported, so beside such a file it is Unknown.
func (s *scanner) checkWeights(p string, sharded bool) error {
	if sharded {
		return unknown("it may be a shard of a .weights.json")
	}
	return s.checkFormat(p, checkHDF5)
}
