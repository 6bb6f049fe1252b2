package conformance

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// CrashPlan says which crash points a run of the suite plays, and counts them.
type CrashPlan struct {
	schedulers []string
	shard      Shard
	folder     string

	mu       sync.Mutex
	progress map[string]*Progress
	cycles   []*CrashCycle
}

// NewCrashPlan plays the points of one shard, such as "1/4", on a comma-separated list of the known
// schedulers. The progress files are in a folder, one for each scheduler and shard; "" keeps none.
func NewCrashPlan(known []string, schedulers, shard, folder string) (*CrashPlan, error) {
	p := &CrashPlan{schedulers: strings.Split(schedulers, ","), folder: folder, progress: map[string]*Progress{}}
	for _, name := range p.schedulers {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("scheduler %q is unknown: want some of %s", name, strings.Join(known, ","))
		}
	}
	var err error
	p.shard, err = ParseShard(shard)
	return p, err
}

// Includes reports whether the points of a scheduler are played. The options in the fake's name
// ("fake+EvictsPart") make no difference.
func (p *CrashPlan) Includes(scheduler string) bool {
	name, _, _ := strings.Cut(scheduler, "+")
	return slices.Contains(p.schedulers, name)
}

// Start a cycle on a scheduler with the points that its undisturbed run has shown.
func (p *CrashPlan) Start(scheduler, cycle string, points []Crash) (*CrashCycle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	progress, err := p.progressOf(scheduler)
	if err != nil {
		return nil, err
	}
	c := &CrashCycle{name: cycle, whole: p.shard.Count == 1, progress: progress}
	for _, point := range points {
		if !p.shard.Has(scheduler, cycle, point) {
			continue
		}
		c.points = append(c.points, point)
		if _, ok := progress.Held(cycle, point); ok {
			c.before++
		} else {
			c.missing = append(c.missing, point)
		}
	}
	p.cycles = append(p.cycles, c)
	return c, nil
}

// progressOf a scheduler. The caller holds the lock.
func (p *CrashPlan) progressOf(scheduler string) (*Progress, error) {
	if progress := p.progress[scheduler]; progress != nil {
		return progress, nil
	}
	path := ""
	if p.folder != "" {
		path = filepath.Join(p.folder, scheduler+"-"+p.shard.FileName()+".jsonl")
	}
	progress, err := OpenProgress(path)
	if err == nil {
		p.progress[scheduler] = progress
	}
	return progress, err
}

// Finish closes the progress files and reports whether every point of the cycles that were started has held.
// Where progress is kept it prints how many points were played now and before, and how many are left.
func (p *CrashPlan) Finish(w io.Writer) (bool, error) {
	var errs []error
	for _, progress := range p.progress {
		errs = append(errs, progress.Close())
	}
	if p.folder == "" {
		return true, errors.Join(errs...)
	}
	now, before, left := 0, 0, 0
	for _, c := range p.cycles {
		n := c.left()
		now, before, left = now+len(c.missing)-n, before+c.before, left+n
	}
	_, err := fmt.Fprintf(w, "crash points of shard %s: %d played now, %d had been played before, %d are left\n",
		p.shard, now, before, left)
	return left == 0 && len(p.cycles) > 0, errors.Join(append(errs, err)...)
}

// CrashCycle is one sequence of steps on one scheduler, with the crash points in it that belong to the shard.
type CrashCycle struct {
	name     string
	whole    bool // the shard is everything
	progress *Progress
	points   []Crash
	// before counts the points that held in an earlier run; missing are the others.
	before  int
	missing []Crash
}

// Held records that the outcome of a point was right; the operator was killed at these writes.
func (c *CrashCycle) Held(point Crash, killed []string) error {
	return c.progress.Record(HeldPoint{Cycle: c.name, Point: point.String(), Killed: killed})
}

func (c *CrashCycle) left() int {
	n := 0
	for _, point := range c.missing {
		if _, ok := c.progress.Held(c.name, point); !ok {
			n++
		}
	}
	return n
}

// hits counts by moment and kind at which writes operators were killed; missed are the points at which none
// was.
func (c *CrashCycle) hits() (at map[Moment]map[string]int, missed []string) {
	at = map[Moment]map[string]int{Before: {}, After: {}}
	for _, point := range c.points {
		h, ok := c.progress.Held(c.name, point)
		if !ok {
			continue
		}
		if len(h.Killed) == 0 {
			missed = append(missed, h.Point)
		}
		for _, write := range h.Killed {
			at[point.Moment][KindOf(write)]++
		}
	}
	return at, missed
}

// Problems lists what the points that held fail to prove: that none is left, that most of them killed an
// operator, and that one was killed before, and one after, a write of each required kind. A shard that is not
// everything answers for the kinds whose first write it has.
func (c *CrashCycle) Problems(required []string) []string {
	var problems []string
	at, missed := c.hits()
	if n := c.left(); n > 0 {
		problems = append(problems, fmt.Sprintf("%d of %d points are left", n, len(c.points)))
	}
	// Two runs differ by some writes: where numbers in a status are refreshed, a slow run writes them more
	// often.
	if len(missed) > max(1, len(c.points)/4) {
		problems = append(problems, fmt.Sprintf("%d of %d points were not reached", len(missed), len(c.points)))
	}
	for _, kind := range required {
		for _, moment := range []Moment{Before, After} {
			due := c.whole || slices.Contains(c.points, Crash{moment, 1, kind})
			if due && at[moment][kind] == 0 {
				problems = append(problems, fmt.Sprintf("no operator was killed %s: %s", moment, kind))
			}
		}
	}
	return problems
}

// String is a table of the writes at which operators were killed, and the points that were not reached.
func (c *CrashCycle) String() string {
	at, missed := c.hits()
	kinds := map[string]bool{}
	for _, byKind := range at {
		for kind := range byKind {
			kinds[kind] = true
		}
	}
	lines := []string{fmt.Sprintf("%s: %d points, %d of them played before; killed at", c.name, len(c.points),
		c.before)}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		lines = append(lines, fmt.Sprintf("  %3d before, %3d after: %s", at[Before][kind], at[After][kind], kind))
	}
	if len(missed) > 0 {
		lines = append(lines, "not reached, because that run did not make the write: "+strings.Join(missed, ", "))
	}
	return strings.Join(lines, "\n")
}
