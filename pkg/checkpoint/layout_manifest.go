package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
)

func isManifest(d *listing) bool { return d.has(ManifestName) }

// checkManifest checks a checkpoint of our own format, which docs/checkpoints.md describes: every file that
// the manifest names is there with its size and, with Options.Sums, its sum.
func (s *scanner) checkManifest(d *listing, f *Found) error {
	data, err := s.read(d.at(ManifestName), MaxManifestBytes)
	if err != nil {
		return err
	}
	m, err := ParseManifest(data)
	if err != nil {
		return torn("%v", err)
	}
	f.Step = m.Step
	if s.opts.JobUID != "" && m.JobUID != "" && m.JobUID != s.opts.JobUID {
		f.WrongJob = true
		return unknown("its manifest names another job, %s", m.JobUID)
	}
	for _, file := range m.Files {
		if err := s.checkFile(d.at(file.Name), file); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) checkFile(p string, want File) error {
	info, err := fs.Stat(s.fsys, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return torn("%s is missing", want.Name)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return torn("%s is no file", want.Name)
	case info.Size() != want.Size:
		return torn("%s has %d bytes, the manifest says %d", want.Name, info.Size(), want.Size)
	case !s.opts.Sums || want.SHA256 == "":
		return nil
	}
	got, err := s.sum(p)
	if err == nil && got != want.SHA256 {
		err = torn("%s has another SHA-256 than the manifest says", path.Base(want.Name))
	}
	return err
}

func (s *scanner) sum(p string) (string, error) {
	f, _, err := s.open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	// The wrappers hide ReadFrom and WriteTo, so that the copy uses this small buffer: the agent shares the
	// trainer's memory.
	writer, reader := struct{ io.Writer }{h}, struct{ io.Reader }{f}
	if _, err := io.CopyBuffer(writer, reader, make([]byte, 64<<10)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
