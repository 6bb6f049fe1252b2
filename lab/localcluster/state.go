package localcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// ErrNoCluster is returned by Open when the directory has no cluster.
var ErrNoCluster = errors.New("no cluster here")

// stateVersion changes when older state files can no longer be read.
const stateVersion = 1

// state is what one command leaves for the next to find the cluster again.
type state struct {
	Version int       `json:"version"`
	Created time.Time `json:"created"`
	// Creator is Options.Creator.
	Creator string `json:"creator,omitempty"`
	// Ready is set once Up is through: without it Up was interrupted.
	Ready      bool     `json:"ready"`
	Audit      bool     `json:"audit"`
	Attached   bool     `json:"attached"`
	Kubectl    string   `json:"kubectl"`
	Schedulers []string `json:"schedulers"`
	// RealNodeNumber is the number of the real node's link, where there is one.
	RealNodeNumber byte              `json:"realNodeNumber,omitempty"`
	Processes      []process.Process `json:"processes"`
}

// find returns the named process, to be changed in place.
func (s *state) find(name string) (*process.Process, error) {
	i := slices.IndexFunc(s.Processes, func(p process.Process) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the cluster has no process %q; it has %v", name, s.names())
	}
	return &s.Processes[i], nil
}

func (s *state) names() []string {
	names := make([]string, 0, len(s.Processes))
	for _, p := range s.Processes {
		names = append(names, p.Name)
	}
	return names
}

// condition says how much of a cluster runs.
type condition int

const (
	// conditionUp: every process runs that was not stopped on purpose.
	conditionUp condition = iota
	// conditionHalf: some run and some do not, or Up never finished.
	conditionHalf
	// conditionDead: none runs.
	conditionDead
)

// condition is computed from the processes for which alive is true.
func (s *state) condition(alive func(process.Process) bool) condition {
	living, dead := 0, 0
	for _, p := range s.Processes {
		switch {
		case alive(p):
			living++
		case !p.Stopped:
			dead++
		}
	}
	switch {
	case living == 0:
		return conditionDead
	case dead > 0 || !s.Ready:
		return conditionHalf
	}
	return conditionUp
}

// dead are the names of the processes that should run and do not.
func (s *state) dead(alive func(process.Process) bool) []string {
	var names []string
	for _, p := range s.Processes {
		if !p.Stopped && !alive(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// readState reads the directory's state file; ErrNoCluster when there is none.
func readState(l layout.Layout) (*state, error) {
	content, err := os.ReadFile(l.State())
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoCluster, l.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's state: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("reading the cluster's state %s: %w", l.State(), err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s is of version %d, this program reads version %d; in the clone that brought the "+
			"cluster up, run: %s", l.State(), s.Version, stateVersion, DownCommand(l.Dir))
	}
	return s, nil
}

// write replaces the state file whole: a reader never sees half of one.
func (s *state) write(l layout.Layout) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the cluster's state: %w", err)
	}
	if err := os.WriteFile(l.StateDraft(), content, 0o600); err != nil {
		return fmt.Errorf("writing the cluster's state: %w", err)
	}
	if err := os.Rename(l.StateDraft(), l.State()); err != nil {
		return fmt.Errorf("writing the cluster's state: %w", err)
	}
	return nil
}
