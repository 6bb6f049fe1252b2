package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// workloadOptions choose what is played.
type workloadOptions struct {
	workloads []string
	set       string
	quick     bool
	scale     float64
	trace     string
	compress  []float64
	nodes     int
	maxGangs  int
	seed      uint64
}

func (o *workloadOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.workloads, "workload", nil,
		`workloads as "bench list" names them, or YAML files of one's own (see bench/README.md)`)
	flags.StringVar(&o.set, "set", string(workload.SetDefault),
		"default, quick or full: what is played without --workload and --trace")
	flags.BoolVar(&o.quick, "quick", false, "burst and fixed-8 at a tenth of their size, on few stacks")
	flags.Float64Var(&o.scale, "scale", 1, "size of the workloads that ship, at most 1")
	flags.StringVar(&o.trace, "trace", "", "play a trace: a CSV file (see bench/README.md)")
	flags.Float64SliceVar(&o.compress, "compress", []float64{1440, 2880},
		"play the trace so many times as fast, once for each")
	flags.IntVar(&o.nodes, "trace-nodes", 64, "nodes of 8 GPUs for the trace")
	flags.IntVar(&o.maxGangs, "trace-gangs", 500, "draw at most so many gangs from the trace; 0: all")
	flags.Uint64Var(&o.seed, "trace-seed", 1, "of that draw")
}

// load what was chosen.
func (o *workloadOptions) load() ([]workload.Workload, error) {
	if o.quick {
		o.set = string(workload.SetQuick)
	}
	var all []workload.Workload
	for _, name := range o.workloads {
		w, err := o.named(name)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	if o.trace != "" {
		traces, err := o.traces()
		if err != nil {
			return nil, err
		}
		all = append(all, traces...)
	}
	if len(all) > 0 {
		return all, nil
	}
	return workload.Set(o.set).Workloads()
}

// named is a workload that ships, or one of a file.
func (o *workloadOptions) named(name string) (workload.Workload, error) {
	if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" && ext != ".json" {
		b, err := workload.Lookup(name)
		if err != nil {
			return workload.Workload{}, fmt.Errorf("%w; a file's name ends in .yaml", err)
		}
		return b.Build(o.scale)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return workload.Workload{}, fmt.Errorf("reading a workload: %w", err)
	}
	// A trace that the file names lies beside it, or has an absolute path.
	return workload.Parse(text, name, func(path string) (io.ReadCloser, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		return os.Open(path)
	})
}

// traces are the trace's workloads, one for each rate.
func (o *workloadOptions) traces() ([]workload.Workload, error) {
	var all []workload.Workload
	for _, rate := range o.compress {
		f, err := os.Open(o.trace)
		if err != nil {
			return nil, fmt.Errorf("opening a trace: %w", err)
		}
		w, err := workload.ReadTrace(f, o.trace, workload.TraceOptions{
			Nodes: o.nodes, GPUsPerNode: 8, Compress: rate, MaxGangs: o.maxGangs, Seed: o.seed,
			Longest: 24 * time.Hour, Checkpoint: time.Hour,
		})
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("closing a trace: %w", err)
		}
		if err != nil {
			return nil, err
		}
		w.Name = strings.TrimRight(w.Name[:min(len(w.Name), 50)], "-") + fmt.Sprintf("-x%g", rate)
		all = append(all, w)
	}
	return all, nil
}
