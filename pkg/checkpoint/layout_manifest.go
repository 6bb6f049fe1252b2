package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
)

func looksManifest(d *listing) bool { return d.has(ManifestName) }

// checkManifest: our own rule, docs/checkpoints.md.
func (l *look) checkManifest(d *listing, f *Found) error {
	f.Step = noStep
	data, err := l.read(d.at(ManifestName), MaxManifestBytes)
	if err != nil {
		return err
	}
	m, err := ParseManifest(data)
	if err != nil {
		return torn("%v", err)
	}
	f.Step = m.Step
	if l.opts.JobUID != "" && m.JobUID != "" && m.JobUID != l.opts.JobUID {
		f.WrongJob = true
		return unknown("its manifest names another job, %s", m.JobUID)
	}
	for _, file := range m.Files {
		if err := l.checkFile(d.at(file.Name), file); err != nil {
			return err
		}
	}
	return nil
}

func (l *look) checkFile(p string, want File) error {
	info, err := fs.Stat(l.fsys, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return torn("%s is missing", want.Name)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return torn("%s is no file", want.Name)
	case info.Size() != want.Size:
		return torn("%s has %d bytes, the manifest says %d", want.Name, info.Size(), want.Size)
	case !l.opts.Sums || want.SHA256 == "":
		return nil
	}
	got, err := l.sum(p)
	if err == nil && got != want.SHA256 {
		err = torn("%s has another SHA-256 than the manifest says", path.Base(want.Name))
	}
	return err
}

func (l *look) sum(p string) (string, error) {
	f, err := l.fsys.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	// A small buffer of our own: the agent's memory is the trainer's too.
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, make([]byte, 64<<10)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
