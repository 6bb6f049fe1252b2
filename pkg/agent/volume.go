package agent

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// volume is a directory of a volume as a file system. Links cannot lead out of it, and nothing but files and
// directories can be opened: a pipe would block the agent, and a device might act.
type volume struct{ root *os.Root }

func openVolume(dir string) (volume, error) {
	if info, err := os.Stat(dir); err != nil {
		return volume{}, err
	} else if !info.IsDir() { // os.OpenRoot would wait for a pipe's writer
		return volume{}, &fs.PathError{Op: "open", Path: dir, Err: errors.New("it is no directory")}
	}
	root, err := os.OpenRoot(dir)
	return volume{root}, err
}

func (v volume) Close() error { return v.root.Close() }

var errNotAFile = errors.New("it is neither a file nor a directory")

// Open implements fs.FS. The look before the opening spares devices; O_NONBLOCK and the look after it are for
// what changes in between.
func (v volume) Open(name string) (fs.File, error) {
	if info, err := v.Stat(name); err != nil {
		return nil, err
	} else if !isFileOrDir(info) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotAFile}
	}
	f, err := v.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !isFileOrDir(info) {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotAFile}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Stat implements fs.StatFS without opening anything.
func (v volume) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return v.root.Stat(name)
}

func isFileOrDir(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }
