package localcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// stateVersion changes when a state file of before can no longer be read.
const stateVersion = 1

// state is what one command leaves for the next to find the cluster again.
type state struct {
	Version int       `json:"version"`
	Created time.Time `json:"created"`
	// Ready is set once Up is through: without it Up was interrupted.
	Ready      bool     `json:"ready"`
	Audit      bool     `json:"audit"`
	Attached   bool     `json:"attached"`
	Kubectl    string   `json:"kubectl"`
	Schedulers []string `json:"schedulers"`
	// RealNodeNumber chose the real node's addresses, where there is one.
	RealNodeNumber byte      `json:"realNodeNumber,omitempty"`
	Processes      []process `json:"processes"`
}

// process returns the named process, to be changed in place.
func (s *state) process(name string) (*process, error) {
	i := slices.IndexFunc(s.Processes, func(p process) bool { return p.Name == name })
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

// condition is how a cluster that was found is.
type condition int

const (
	// conditionUp: every process runs that was not stopped on purpose.
	conditionUp condition = iota
	// conditionHalf: some run and some do not, or Up never finished.
	conditionHalf
	// conditionDead: none runs.
	conditionDead
)

// judge tells the condition. alive is asked for each process.
func (s *state) judge(alive func(process) bool) condition {
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
func (s *state) dead(alive func(process) bool) []string {
	var names []string
	for _, p := range s.Processes {
		if !p.Stopped && !alive(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// readState reads the directory's state file; ErrNoCluster when there is none.
func readState(l layout) (*state, error) {
	content, err := os.ReadFile(l.state())
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoCluster, l.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's state: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("reading the cluster's state %s: %w", l.state(), err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s is of version %d, this program reads version %d; take the cluster down with the program that brought it up", l.state(), s.Version, stateVersion)
	}
	return s, nil
}

// write replaces the state file whole: a reader never sees half of one.
func (s *state) write(l layout) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the cluster's state: %w", err)
	}
	if err := os.WriteFile(l.stateDraft(), content, 0o600); err != nil {
		return fmt.Errorf("writing the cluster's state: %w", err)
	}
	if err := os.Rename(l.stateDraft(), l.state()); err != nil {
		return fmt.Errorf("writing the cluster's state: %w", err)
	}
	return nil
}
