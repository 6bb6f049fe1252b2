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

// HeldPoint is a crash point that was played and after which the outcome was right.
type HeldPoint struct {
	Cycle string `json:"cycle"`
	Point string `json:"point"`
	// Killed are the writes at which the operator was killed; none if that run did not make the write.
	Killed []string `json:"killed,omitempty"`
}

// Progress remembers the points that held, across runs of the suite. It is a file with one JSON object per
// line, so that a run that is cut short at any moment loses at most the point that it is playing.
type Progress struct {
	mu   sync.Mutex
	file *os.File // nil: the points are kept in memory only
	held map[progressKey]HeldPoint
}

type progressKey struct{ cycle, point string }

// OpenProgress opens a progress file or creates it with its folder. An empty path keeps the points in memory.
func OpenProgress(path string) (*Progress, error) {
	p := &Progress{held: map[progressKey]HeldPoint{}}
	if path == "" {
		return p, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("making the folder of the progress file: %w", err)
	}
	complete, err := p.read(path)
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
	p.file = file
	return p, nil
}

// read the points of a file and return the length of its complete lines. A last line without its newline was
// cut short and does not count.
func (p *Progress) read(path string) (complete int64, err error) {
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
		var h HeldPoint
		if err := json.Unmarshal(line, &h); err != nil {
			return 0, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		p.held[progressKey{h.Cycle, h.Point}] = h
	}
	return int64(len(data)), nil
}

// Record a point that held.
func (p *Progress) Record(h HeldPoint) error {
	line, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encoding a point: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[progressKey{h.Cycle, h.Point}] = h
	if p.file == nil {
		return nil
	}
	if _, err := p.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the progress file: %w", err)
	}
	return nil
}

// Held returns what is known of a point of a cycle.
func (p *Progress) Held(cycle string, point Crash) (HeldPoint, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.held[progressKey{cycle, point.String()}]
	return h, ok
}

// Close the file.
func (p *Progress) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}
