package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

const gpusPerNode = 8

// Calibration of one scheduler.
type Calibration struct {
	Scheduler string
	// Nodes of 8 GPUs, and how many Situations are played.
	Nodes, Situations int
	// Seed of the gangs. Who is placed where is the scheduler's, and differs from one time to the next.
	Seed uint64
	// Operator is the path of its binary, CRDs that of their folder, and Out that of the folder of records.
	Operator, CRDs, Out string
	Progress            io.Writer
}

// Of so many nodes one loses its gangs after each situation, so that others come, large ones among them.
const emptied = 3

// Run writes the record after each situation. One that was interrupted goes on with the same versions and
// nodes, until it has so many situations; gangs are others then.
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
	f := &filler{
		Calibration: c, on: on, random: rand.New(rand.NewPCG(c.Seed, uint64(len(record.Situations)))),
	}
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

// replace those that have to go, and all that are on some nodes.
func (f *filler) replace(ctx context.Context, gone []string, s sim.Situation) error {
	for _, node := range f.random.Perm(f.Nodes)[:f.Nodes/emptied] {
		for i, g := range f.gangs {
			if s.Running[i].On[node] > 0 && !slices.Contains(gone, g.Name) {
				gone = append(gone, g.Name)
			}
		}
	}
	f.gangs = slices.DeleteFunc(f.gangs, func(g gang) bool { return slices.Contains(gone, g.Name) })
	return f.on.remove(ctx, gone)
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
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encoding what the scheduler did: %w", err)
	}
	return result.WriteWhole(c.file(), append(text, '\n'))
}

func (c *Calibration) say(what string) { fmt.Fprintf(c.Progress, "%s: %s\n", c.Scheduler, what) }
