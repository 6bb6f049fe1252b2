package sim

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"
)

// Record is what a real scheduler did in situations that bench/situations has played.
type Record struct {
	Scheduler string `json:"scheduler"`
	// Versions of its programs.
	Versions    map[string]string `json:"versions"`
	Nodes       int               `json:"nodes"`
	GPUsPerNode int64             `json:"gpusPerNode"`
	Situations  []Situation       `json:"situations"`
}

// Encode returns the record as JSON with a line for each situation.
func (r Record) Encode() ([]byte, error) {
	lines := make([][]byte, 0, len(r.Situations))
	for _, s := range r.Situations {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	r.Situations = []Situation{}
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	begin, end, _ := bytes.Cut(head, []byte("[]"))
	return slices.Concat(begin, []byte("[\n"), bytes.Join(lines, []byte(",\n")), []byte("\n]"), end,
		[]byte("\n")), nil
}

// Situation has the gangs that ran when a gang of higher value did not fit, and the victims of the scheduler.
type Situation struct {
	// Ranks and GPUs of each rank of the gang that came.
	Ranks   int      `json:"ranks"`
	GPUs    int64    `json:"gpus"`
	Running []Placed `json:"running"`
}

// Placed is a gang that ran, of lower value.
type Placed struct {
	GPUs int64 `json:"gpus"`
	// Age in seconds: since all of its ranks had run.
	Age float64 `json:"age"`
	// On how many ranks each node has, by the node's number.
	On map[int]int `json:"on"`
	// Unsaved steps when the gang came.
	Unsaved int64 `json:"unsaved"`
	// Taken: it was ended for the gang. Lost are the steps that it then had to train again.
	Taken bool  `json:"taken,omitempty"`
	Lost  int64 `json:"lost,omitempty"`
}

// Total GPUs of all ranks.
func (p Placed) Total() int64 {
	ranks := 0
	for _, n := range p.On {
		ranks += n
	}
	return int64(ranks) * p.GPUs
}

// Free GPUs of each node.
func (s Situation) Free(nodesOf int, gpusPerNode int64) []int64 {
	free := make(nodes, nodesOf)
	for i := range free {
		free[i] = gpusPerNode
	}
	for _, p := range s.Running {
		free.add(p.On, p.GPUs, -1)
	}
	return free
}

// Fits reports whether the gang fits without victims.
func (s Situation) Fits(nodesOf int, gpusPerNode int64) bool {
	return nodes(s.Free(nodesOf, gpusPerNode)).fits(s.Ranks, s.GPUs)
}

// Model returns the victims that an order chooses in a situation, by their index in Running.
func (s Situation) Model(o Order, nodesOf int, gpusPerNode int64, r *rand.Rand) []int {
	now := 24 * time.Hour
	var lesser []*run
	for i, p := range s.Running {
		began := now - time.Duration(p.Age*float64(time.Second))
		lesser = append(lesser, &run{
			Job: &Job{ID: i, Ranks: int(p.Total() / p.GPUs), GPUs: p.GPUs}, began: began, on: p.On, asked: -1,
		})
	}
	g := &Job{ID: len(lesser), Value: High, Ranks: s.Ranks, GPUs: s.GPUs}
	var taken []int
	for _, v := range o.choose(s.Free(nodesOf, gpusPerNode), lesser, g, r) {
		taken = append(taken, v.ID)
	}
	slices.Sort(taken)
	return taken
}
