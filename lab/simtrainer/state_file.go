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

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Location is where a job's checkpoints are. The URI is relative to the namespace, since it may name a claim.
// The UID keeps a job from finding the checkpoints of another job of the same name.
type Location struct{ Namespace, URI, JobUID string }

func (l Location) key() string { return l.Namespace + " " + l.URI + " " + l.JobUID }

// uri of a checkpoint, by its path below the location.
func (l Location) uri(rel string) string { return l.URI + "/" + rel }

// Checkpoint is a simulated checkpoint.
type Checkpoint struct {
	// Path below its location, such as "attempt-1/step-0000000500".
	Path    string `json:"path"`
	Attempt int32  `json:"attempt"`
	Step    int64  `json:"step"`
	// Complete: its save is done. Until then it is torn.
	Complete bool      `json:"complete"`
	Time     time.Time `json:"time"`
	// Seconds that the save took.
	Seconds float64 `json:"seconds,omitempty"`
	// Damaged: it looks complete, and cannot be loaded.
	Damaged bool `json:"damaged,omitempty"`
}

// stateVersion changes when the program can no longer read older files.
const stateVersion = 1

// state is the content of a StateFile.
type state struct {
	Version int `json:"version"`
	// Checkpoints by the key of their location, newest first.
	Checkpoints map[string][]Checkpoint `json:"places"`
	// Trainers by their pod's UID.
	Trainers map[types.UID]Trainer `json:"trainers"`
	// Rehearsed are the trainers of a rehearsal's attempts, by the key of their location.
	Rehearsed map[string][]Trainer `json:"rehearsed,omitempty"`
}

// StateFile holds all state of a simulator: the checkpoints on all claims and object stores, and how far the
// running trainers are. Every change replaces the whole file, so that a simulator that is killed at any
// moment can continue from it. A method that changes it returns after the file is written; if it fails,
// nothing has changed.
type StateFile struct {
	path string

	mu    sync.Mutex
	state state
}

// OpenStateFile reads the file. A file that does not exist is empty.
func OpenStateFile(path string) (*StateFile, error) {
	f := &StateFile{path: path, state: state{
		stateVersion, map[string][]Checkpoint{}, map[types.UID]Trainer{}, map[string][]Trainer{},
	}}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the volume: %w", err)
	}
	if err := json.Unmarshal(data, &f.state); err != nil {
		return nil, fmt.Errorf("reading the volume %s: %w; remove it to begin with an empty one", path, err)
	}
	if f.state.Version != stateVersion {
		return nil, fmt.Errorf("volume %s is of version %d, this program reads %d: remove it",
			path, f.state.Version, stateVersion)
	}
	return f, nil
}

// change writes what do makes of the state. The copies of the maps are shallow, so do must replace values,
// not modify them.
func (f *StateFile) change(do func(*state)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := state{
		f.state.Version, maps.Clone(f.state.Checkpoints), maps.Clone(f.state.Trainers),
		maps.Clone(f.state.Rehearsed),
	}
	do(&next)
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding the volume: %w", err)
	}
	draft := f.path + ".tmp"
	if err := os.WriteFile(draft, data, 0o600); err != nil {
		return fmt.Errorf("writing the volume: %w", err)
	}
	if err := os.Rename(draft, f.path); err != nil {
		return fmt.Errorf("writing the volume: %w", err)
	}
	f.state = next
	return nil
}

// Store writes a trainer together with the saves that it began or ended. Of the checkpoints at its location,
// the newest keep complete ones stay (at least one), all newer torn ones, and the one that the trainer
// resumed from.
func (f *StateFile) Store(uid types.UID, t Trainer, at Location, saves []SaveEvent, keep int) error {
	return f.change(func(next *state) {
		next.Trainers[uid] = t
		if t.Config.Rehearsal {
			others := slices.DeleteFunc(slices.Clone(next.Rehearsed[at.key()]), func(o Trainer) bool {
				return o.Config.Attempt == t.Config.Attempt
			})
			next.Rehearsed[at.key()] = append(others, t)
		}
		if len(saves) == 0 || t.Config.Spec.Fault == Outside {
			return
		}
		all, attempt := slices.Clone(next.Checkpoints[at.key()]), t.Config.Attempt
		for _, s := range saves {
			saved := Checkpoint{
				pathOf(t.Config, s.Step), attempt, s.Step, s.Complete, s.At, s.Took.Seconds(), s.Damaged,
			}
			all = slices.DeleteFunc(all, func(c Checkpoint) bool { return c.Path == saved.Path })
			all = append(all, saved)
		}
		next.Checkpoints[at.key()] = retain(all, max(keep, 1), t.Config.Resume)
	})
}

// pathOf is where an attempt saves a step.
func pathOf(c Config, step int64) string {
	if c.Spec.Fault == InPlace {
		return fmt.Sprintf("attempt-%d/last", c.Attempt)
	}
	return fmt.Sprintf("attempt-%d/step-%010d", c.Attempt, step)
}

// retain returns the checkpoints to keep, newest first: by step, then by attempt.
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

// Forget removes trainers whose pods are gone.
func (f *StateFile) Forget(gone ...types.UID) error {
	f.mu.Lock()
	known := slices.ContainsFunc(gone, func(uid types.UID) bool { _, ok := f.state.Trainers[uid]; return ok })
	f.mu.Unlock()
	if !known {
		return nil
	}
	return f.change(func(next *state) {
		for _, uid := range gone {
			delete(next.Trainers, uid)
		}
	})
}

// Trainer returns the trainer of a pod as it was stored last.
func (f *StateFile) Trainer(uid types.UID) (Trainer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.state.Trainers[uid]
	return t, ok
}

// Trainers returns the UIDs of the pods whose trainers are stored.
func (f *StateFile) Trainers() []types.UID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.state.Trainers))
}

// Find returns a checkpoint by its path.
func (f *StateFile) Find(at Location, path string) (Checkpoint, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.state.Checkpoints[at.key()] {
		if c.Path == path {
			return c, true
		}
	}
	return Checkpoint{}, false
}

// Complete returns the checkpoints that look complete, newest first.
func (f *StateFile) Complete(at Location) []Checkpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	isTorn := func(c Checkpoint) bool { return !c.Complete }
	return slices.DeleteFunc(slices.Clone(f.state.Checkpoints[at.key()]), isTorn)
}

// Rehearsed returns the trainers of a rehearsal's attempts as they were stored last.
func (f *StateFile) Rehearsed(at Location) []Trainer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.state.Rehearsed[at.key()])
}

// Volume is what an agent finds at the location.
func (f *StateFile) Volume(at Location) checkpoint.TracedVolume {
	complete := f.Complete(at)
	v := checkpoint.TracedVolume{Complete: int32(len(complete))}
	cutOff, attempt := "", int32(0)
	for _, t := range f.Rehearsed(at) {
		if t.CutOff > 0 && t.Exit != nil && t.Config.Attempt > attempt {
			cutOff, attempt = pathOf(t.Config, t.CutOff), t.Config.Attempt
		}
	}
	v.CutOffComplete = slices.ContainsFunc(complete, func(c Checkpoint) bool { return c.Path == cutOff })
	return v
}

// OfAttempt allows the checkpoints of one attempt.
func OfAttempt(attempt int32) func(Checkpoint) bool {
	return func(c Checkpoint) bool { return c.Attempt == attempt }
}

// Newest returns the newest complete checkpoint of those that are allowed, and the newer torn ones, newest
// first.
func (f *StateFile) Newest(
	at Location, allowed func(Checkpoint) bool,
) (newest *Checkpoint, passedOver []Checkpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.state.Checkpoints[at.key()] {
		switch {
		case !allowed(c):
		case c.Complete:
			return &c, slices.DeleteFunc(passedOver, func(p Checkpoint) bool { return p.Step <= c.Step })
		default:
			passedOver = append(passedOver, c)
		}
	}
	return nil, passedOver
}
