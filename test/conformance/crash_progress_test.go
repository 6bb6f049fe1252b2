package conformance

import (
	"encoding/json"
	"sync"
)

// HeldPoint is a crash point that was played and after which the outcome was right.
type HeldPoint struct {
	Cycle string `json:"cycle"`
	Point string `json:"point"`
	// Killed are the writes at which the operator was killed; none if that run did not make the write.
	Killed []string `json:"killed,omitempty"`
}

// Progress remembers the points that held, across runs of the suite.
type Progress struct {
	*progressFile
	mu   sync.Mutex
	held map[progressKey]HeldPoint
}

type progressKey struct{ cycle, point string }

// OpenProgress opens a progress file or creates it with its folder. An empty path keeps the points in memory.
func OpenProgress(path string) (*Progress, error) {
	p := &Progress{held: map[progressKey]HeldPoint{}}
	file, err := openProgressFile(path, func(line []byte) error {
		var h HeldPoint
		if err := json.Unmarshal(line, &h); err != nil {
			return err
		}
		p.held[progressKey{h.Cycle, h.Point}] = h
		return nil
	})
	p.progressFile = file
	return p, err
}

// Record a point that held.
func (p *Progress) Record(h HeldPoint) error {
	p.mu.Lock()
	p.held[progressKey{h.Cycle, h.Point}] = h
	p.mu.Unlock()
	return p.add(h)
}

// Held returns what is known of a point of a cycle.
func (p *Progress) Held(cycle string, point Crash) (HeldPoint, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.held[progressKey{cycle, point.String()}]
	return h, ok
}
