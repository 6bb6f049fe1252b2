package simtrainer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Place is where a job's checkpoints lie: a URI in the terms of a namespace. A job's checkpoints carry its UID, so that nobody takes
// another's, not even that of a job of the same name.
type Place struct{ Namespace, URI, JobUID string }

func (p Place) key() string { return p.Namespace + " " + p.URI + " " + p.JobUID }

// Checkpoint is one on a volume.
type Checkpoint struct {
	// Path below the place, "attempt-1/step-0000000500".
	Path    string `json:"path"`
	Attempt int32  `json:"attempt"`
	Step    int64  `json:"step"`
	// Complete is set when its save is done; until then it is torn.
	Complete bool      `json:"complete"`
	Time     time.Time `json:"time"`
	// Seconds that the save took.
	Seconds float64 `json:"seconds,omitempty"`
}

// volumeVersion changes when a file of before can no longer be read.
const volumeVersion = 1

// content of the file.
type content struct {
	Version int `json:"version"`
	// Places by key, the checkpoints by path.
	Places map[string][]Checkpoint `json:"places"`
	// Trainers that run, by their pod's UID.
	Trainers map[types.UID]Trainer `json:"trainers"`
}

// Volume is what the trainers have saved, and how far those are that run: one file, replaced whole at every change, so that a
// simulator that was killed at any moment goes on from it. It plays the disks of all claims and object stores. Every method that
// changes it returns when the change is in the file; one that fails has changed nothing.
type Volume struct {
	path string

	mu  sync.Mutex
	now content
}

// OpenVolume reads the file, or begins a new one.
func OpenVolume(path string) (*Volume, error) {
	v := &Volume{path: path, now: content{volumeVersion, map[string][]Checkpoint{}, map[types.UID]Trainer{}}}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the volume: %w", err)
	}
	if err := json.Unmarshal(data, &v.now); err != nil {
		return nil, fmt.Errorf("reading the volume %s: %w; remove it to begin with an empty one", path, err)
	}
	if v.now.Version != volumeVersion {
		return nil, fmt.Errorf("volume %s is of version %d, this program reads %d: remove it", path, v.now.Version, volumeVersion)
	}
	return v, nil
}

// change the content: do works on a copy that is shallow but for what it replaces.
func (v *Volume) change(do func(*content)) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	next := content{v.now.Version, maps.Clone(v.now.Places), maps.Clone(v.now.Trainers)}
	do(&next)
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding the volume: %w", err)
	}
	draft := v.path + ".tmp"
	if err := os.WriteFile(draft, data, 0o600); err != nil {
		return fmt.Errorf("writing the volume: %w", err)
	}
	if err := os.Rename(draft, v.path); err != nil {
		return fmt.Errorf("writing the volume: %w", err)
	}
	v.now = next
	return nil
}

// Store a trainer as it is now together with the saves that it began or ended, in one write. Of the place's checkpoints the newest
// keep complete ones stay (at least one), the one that the trainer resumed from, and what is newer than the oldest of them.
func (v *Volume) Store(uid types.UID, t Trainer, at Place, saves []Saving, keep int) error {
	return v.change(func(c *content) {
		c.Trainers[uid] = t
		if len(saves) == 0 {
			return
		}
		all := slices.Clone(c.Places[at.key()])
		for _, s := range saves {
			found := Checkpoint{pathOf(t.Script.Attempt, s.Step), t.Script.Attempt, s.Step, s.Complete, s.At, s.Took.Seconds()}
			all = slices.DeleteFunc(all, func(c Checkpoint) bool { return c.Path == found.Path })
			all = append(all, found)
		}
		c.Places[at.key()] = retain(all, max(keep, 1), t.Script.Resume)
	})
}

func pathOf(attempt int32, step int64) string {
	return fmt.Sprintf("attempt-%d/step-%010d", attempt, step)
}

// retain sorts, the newest first: by step, then by attempt.
func retain(all []Checkpoint, keep int, resume int64) []Checkpoint {
	slices.SortFunc(all, func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(b.Step, a.Step), cmp.Compare(b.Attempt, a.Attempt))
	})
	var kept []Checkpoint
	complete := 0
	for _, c := range all {
		if complete < keep || c.Complete && c.Step == resume {
			kept = append(kept, c)
		}
		if c.Complete {
			complete++
		}
	}
	return kept
}

// Forget trainers whose pods are gone.
func (v *Volume) Forget(gone ...types.UID) error {
	v.mu.Lock()
	known := slices.ContainsFunc(gone, func(uid types.UID) bool { _, ok := v.now.Trainers[uid]; return ok })
	v.mu.Unlock()
	if !known {
		return nil
	}
	return v.change(func(c *content) {
		for _, uid := range gone {
			delete(c.Trainers, uid)
		}
	})
}

// Trainer of a pod, as it was stored last.
func (v *Volume) Trainer(uid types.UID) (Trainer, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t, ok := v.now.Trainers[uid]
	return t, ok
}

// Trainers are the UIDs of those that are stored.
func (v *Volume) Trainers() []types.UID {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.now.Trainers))
}

// Find a checkpoint by its path.
func (v *Volume) Find(at Place, path string) (Checkpoint, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.now.Places[at.key()] {
		if c.Path == path {
			return c, true
		}
	}
	return Checkpoint{}, false
}

// Newest complete checkpoint of one attempt, or of all (0), and those that are newer and torn, the newest first.
func (v *Volume) Newest(at Place, attempt int32) (newest *Checkpoint, passedOver []Checkpoint) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.now.Places[at.key()] {
		switch {
		case attempt != 0 && c.Attempt != attempt:
		case c.Complete:
			return &c, slices.DeleteFunc(passedOver, func(p Checkpoint) bool { return p.Step <= c.Step })
		default:
			passedOver = append(passedOver, c)
		}
	}
	return nil, passedOver
}
