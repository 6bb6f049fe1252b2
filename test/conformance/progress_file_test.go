package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// progressFile has one JSON object per line, so that a run that is cut short at any moment loses at most what
// it is playing. A file with an empty path keeps nothing.
type progressFile struct {
	mu   sync.Mutex
	file *os.File // nil: nothing is kept
}

// openProgressFile opens a progress file or creates it with its folder. It calls each with every line.
func openProgressFile(path string, each func(line []byte) error) (*progressFile, error) {
	if path == "" {
		return &progressFile{}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("creating the folder of the progress file: %w", err)
	}
	complete, err := readProgress(path, each)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the progress file: %w", err)
	}
	// Writing continues behind the last complete line.
	if err := file.Truncate(complete); err != nil {
		return nil, errors.Join(fmt.Errorf("truncating the progress file: %w", err), file.Close())
	}
	if _, err := file.Seek(complete, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("seeking in the progress file: %w", err), file.Close())
	}
	return &progressFile{file: file}, nil
}

// readProgress reads the lines of a file and returns the length of the complete ones. A last line without its
// newline was cut short and does not count.
func readProgress(path string, each func(line []byte) error) (complete int64, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the progress file: %w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		if err := each(line); err != nil {
			return 0, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	return int64(len(data)), nil
}

// add writes a line.
func (f *progressFile) add(v any) error {
	if f.file == nil {
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a line of the progress file: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the progress file: %w", err)
	}
	return nil
}

// Close the file.
func (f *progressFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
