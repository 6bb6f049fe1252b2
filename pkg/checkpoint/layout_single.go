package checkpoint

import (
	"archive/zip"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// singleFiles finds checkpoints that are one file: Lightning, Keras, torch.save.
func (l *look) singleFiles(d *listing, _ map[string]bool) error {
	for _, name := range d.files {
		f := Found{Path: d.at(name), Step: stepOf(name), Bytes: d.sizes[name]}
		switch {
		case strings.HasPrefix(name, "."):
			continue
		case strings.HasSuffix(name, ".ckpt"):
			f.Layout = LayoutLightning
			f.judge(l.checkLightning(&f))
		case strings.HasSuffix(name, ".keras"):
			f.Layout = LayoutKeras
			f.judge(l.wholeFile(f.Path, checkKeras))
		case strings.HasSuffix(name, ".weights.h5"):
			f.Layout = LayoutKeras
			f.judge(l.checkWeights(d, name))
		case strings.HasSuffix(name, ".pt"), strings.HasSuffix(name, ".pth"):
			f.Layout = LayoutTorchSave
			err := l.wholeFile(f.Path, checkZip)
			if err == nil {
				err = unknown("torch.save without a manifest: nothing says which files belong together; write %s last", ManifestName)
			}
			f.judge(err)
		default:
			continue
		}
		if err := l.add(f); err != nil {
			return err
		}
	}
	return nil
}

// checkLightning: a .ckpt is one torch.save of everything (lightning/fabric/utilities/cloud_io.py, _atomic_save), named
// {epoch}-{step} unless the user says otherwise. last.ckpt has its step inside, as global_step.
func (l *look) checkLightning(f *Found) error {
	if namedStep.MatchString(path.Base(f.Path)) {
		return l.wholeFile(f.Path, checkZip)
	}
	f.Step = noStep // last-v1.ckpt is no step 1
	return l.wholeFile(f.Path, func(r io.ReaderAt, size int64) error {
		ints, err := torchInts(r, size, "global_step")
		var fd *finding
		if errors.As(err, &fd) && fd.state == Unknown { // the pickle is beyond us; the file may still be whole
			err = checkZip(r, size)
		}
		if n, ok := ints["global_step"]; ok && n >= 0 {
			f.Step = n
		}
		return err
	})
}

// checkKeras: keras/src/saving/saving_lib.py writes these three members into one zip.
func checkKeras(r io.ReaderAt, size int64) error {
	z, err := openZip(r, size)
	if err != nil {
		var fd *finding
		if errors.As(err, &fd) && fd.state == Unknown {
			return torn("is no zip")
		}
		return err
	}
	for _, want := range []string{"config.json", "metadata.json", "model.weights"} {
		if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.HasPrefix(f.Name, want) }) {
			return torn("has no %s in it", want)
		}
	}
	return nil
}

// checkWeights: Keras cuts large weights into shards that a .weights.json names; that form is not known here.
func (l *look) checkWeights(d *listing, name string) error {
	if slices.ContainsFunc(d.files, func(f string) bool { return strings.HasSuffix(f, ".weights.json") }) {
		return unknown("it may be a shard of a .weights.json")
	}
	return l.wholeFile(d.at(name), checkHDF5)
}
