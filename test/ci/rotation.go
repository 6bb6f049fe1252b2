package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Record is what the parts did on this machine.
type Record struct {
	// Landing is the last commit for which the command landing succeeded; "" if there is none.
	Landing string `json:"landing,omitempty"`
	// Parts by name: their last success.
	Parts map[string]Success `json:"parts,omitempty"`
}

// Success of a part.
type Success struct {
	Commit string    `json:"commit"`
	Time   time.Time `json:"time"`
}

// ReadRecord reads the file; a file that does not exist is an empty record, and so is one that another
// version wrote in another form.
func ReadRecord(path string) (Record, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Record{}, nil
	}
	if err != nil {
		return Record{}, err
	}
	var r Record
	if json.Unmarshal(content, &r) != nil {
		return Record{}, nil
	}
	return r, nil
}

// Write replaces the file.
func (r Record) Write(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = draft.Write(append(content, '\n'))
	if err := errors.Join(err, draft.Close()); err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return os.Rename(draft.Name(), path)
}

// Rotate returns the parts in the order in which a landing runs them: first the one whose last success is
// the oldest; then those with a path that the landing touched; then the others. The second and the third
// group are ordered by age, too. Of parts that never succeeded here the commit decides which is first.
func Rotate(parts []Part, record Record, touched []string, commit string) []Part {
	byAge := turned(parts, commit)
	slices.SortStableFunc(byAge, func(a, b Part) int {
		return record.Parts[a.Name].Time.Compare(record.Parts[b.Name].Time)
	})
	if len(byAge) == 0 {
		return nil
	}
	rest := byAge[1:]
	slices.SortStableFunc(rest, func(a, b Part) int {
		return cmp.Compare(b.touched(touched), a.touched(touched))
	})
	return byAge
}

// turned begins the list at a place that the commit selects.
func turned(parts []Part, commit string) []Part {
	if len(parts) == 0 {
		return nil
	}
	first := int(Seed(commit) % uint32(len(parts)))
	return slices.Concat(parts[first:], parts[:first])
}

// Seed returns a number that differs from commit to commit.
func Seed(commit string) uint32 {
	sum := sha256.Sum256([]byte(commit))
	return binary.BigEndian.Uint32(sum[:])
}

// touched is 1 if a file is below one of the part's paths, and else 0.
func (p Part) touched(files []string) int {
	for _, file := range files {
		if slices.ContainsFunc(p.Paths, func(path string) bool { return strings.HasPrefix(file, path) }) {
			return 1
		}
	}
	return 0
}

// Budget is the time that a landing may take.
type Budget struct {
	Start time.Time
	Total time.Duration
}

// ReadBudget reads CI_BUDGET and CI_STARTED, in seconds; by default 45 minutes from now.
func ReadBudget(get func(string) string, now time.Time) (Budget, error) {
	b := Budget{Start: now, Total: 45 * time.Minute}
	var total, started int64
	for name, to := range map[string]*int64{"CI_BUDGET": &total, "CI_STARTED": &started} {
		if value := get(name); value != "" {
			if _, err := fmt.Sscan(value, to); err != nil || *to <= 0 {
				return b, fmt.Errorf("%s is %q, not a number of seconds", name, value)
			}
		}
	}
	if total > 0 {
		b.Total = time.Duration(total) * time.Second
	}
	if started > 0 {
		b.Start = time.Unix(started, 0)
	}
	return b, nil
}

// Holds reports whether the part is expected to end within the budget.
func (b Budget) Holds(p Part, now time.Time) bool {
	return now.Add(p.Took.Duration).Before(b.Start.Add(b.Total))
}
