package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// writeAtomically writes a file whole or not at all: readers see the old file or the new one, and a full
// disk leaves the old one.
func writeAtomically(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	err = errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// writeFileAtomically makes the file readable for everybody: the trainer may be another user.
func writeFileAtomically(path string, data []byte) error {
	return writeAtomically(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// readBounded reads at most limit+1 bytes of a file, so that the caller can tell that it is too long. It
// reads only regular files: a pipe or a device could block forever.
func readBounded(path string, limit int64) ([]byte, error) {
	notAFile := fmt.Errorf("reading %s: it is no file", path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notAFile
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be another one by now
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notAFile
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}
