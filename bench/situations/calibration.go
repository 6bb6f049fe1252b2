package situations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

// Calibration of the models of one scheduler.
type Calibration struct {
	Ground
	// Situations are how many are played.
	Situations int
}

// Run writes the record after each situation. An interrupted one continues with the same versions and nodes,
// until it has so many situations; gangs are others then.
func (c *Calibration) Run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "calibrate-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	on, err := c.up(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.down(context.WithoutCancel(ctx))) }()
	record, err := c.begun(on.jobs.Describe().Versions)
	if err != nil {
		return err
	}
	f := newFiller(&c.Ground, on, uint64(len(record.Situations)), savesOften)
	for len(record.Situations) < c.Situations {
		if err := f.fill(ctx); err != nil {
			return err
		}
		s, gone, err := f.play(ctx, len(record.Situations)+1)
		if err != nil {
			return err
		}
		record.Situations = append(record.Situations, s)
		if err := c.save(record); err != nil {
			return err
		}
		if err := f.replace(ctx, gone, s); err != nil {
			return err
		}
	}
	return nil
}

// begun is the record of an earlier run of the same programs, or an empty one.
func (c *Calibration) begun(versions map[string]string) (sim.Record, error) {
	fresh := sim.Record{
		Scheduler: c.Scheduler, Versions: versions, Nodes: c.Nodes, GPUsPerNode: gpusPerNode,
	}
	text, err := os.ReadFile(c.file())
	if errors.Is(err, os.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, fmt.Errorf("reading the record so far: %w", err)
	}
	var had sim.Record
	if err := json.Unmarshal(text, &had); err != nil {
		return fresh, fmt.Errorf("reading %s: %w", c.file(), err)
	}
	if had.Nodes != c.Nodes || !maps.Equal(had.Versions, versions) {
		return fresh, nil
	}
	return had, nil
}

func (c *Calibration) file() string { return filepath.Join(c.Out, c.Scheduler+".json") }

func (c *Calibration) save(r sim.Record) error {
	text, err := r.Encode()
	if err != nil {
		return fmt.Errorf("encoding the record of %s: %w", c.Scheduler, err)
	}
	return result.WriteWhole(c.file(), text)
}
