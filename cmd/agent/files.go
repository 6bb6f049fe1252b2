package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// install copies this program, so that a container without it can run it from a shared volume.
func install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	in, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("reading this program: %w", err)
	}
	defer in.Close()
	return replace(filepath.Join(dir, "agent"), 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// replace writes a file whole or not at all: readers see the old one or the new one, and a full disk leaves the old one.
func replace(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
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

func replaceBytes(path string, data []byte) error {
	return replace(path, 0o644, func(w io.Writer) error { // the trainer may be another user
		_, err := w.Write(data)
		return err
	})
}

// readBounded reads at most limit+1 bytes of a regular file: enough to see that it is too long. A pipe or a device in its place
// would block for ever.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %s: it is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
