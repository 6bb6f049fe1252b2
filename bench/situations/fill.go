package situations

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// filler makes gangs of low priority.
type filler struct {
	*Ground
	on     *cluster
	random *rand.Rand
	// trainer of the next gang.
	trainer func(*rand.Rand) string
	gangs   []gang
	made    int
}

// newFiller continues after so many earlier situations, with different gangs.
func newFiller(g *Ground, on *cluster, played uint64, trainer func(*rand.Rand) string) *filler {
	return &filler{Ground: g, on: on, random: rand.New(rand.NewPCG(g.Seed, played)), trainer: trainer}
}

// fill the cluster until several random gangs in a row do not fit. One comes after the other, each in a
// second of its own, since schedulers order gangs by times of whole seconds.
func (f *filler) fill(ctx context.Context) error {
	const tries = 8
	for misses := 0; misses < tries; {
		ranks, gpus := f.shape(f.random.IntN(sizes))
		before, err := f.before(ctx, ranks, gpus)
		if err != nil {
			return err
		}
		if !before.Fits(f.Nodes, gpusPerNode) {
			misses++
			continue
		}
		misses = 0
		if err := f.add(ctx, ranks, gpus); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) add(ctx context.Context, ranks, gpus int) error {
	f.made++
	g := workload.Gang{
		Name: fmt.Sprintf("low-%03d", f.made), Ranks: ranks, GPUs: gpus, Priority: workload.PriorityLow,
	}
	f.say("filling: " + g.Name)
	if err := f.on.submit(ctx, g, trains(f.trainer(f.random))); err != nil {
		return err
	}
	if err := f.on.until(ctx, g.Name+" runs", func(v view) bool { return v.runs(g) }); err != nil {
		return err
	}
	began := time.Now()
	f.gangs = append(f.gangs, gang{g, began})
	return f.on.until(ctx, "the second is over", func(view) bool { return time.Now().Unix() > began.Unix() })
}

// before a gang comes: who runs where.
func (f *filler) before(ctx context.Context, ranks, gpus int) (sim.Situation, error) {
	s := sim.Situation{Ranks: ranks, GPUs: int64(gpus)}
	v, err := f.on.look(ctx)
	if err != nil {
		return s, err
	}
	for _, g := range f.gangs {
		placed, err := placed(v, g)
		if err != nil {
			return s, err
		}
		s.Running = append(s.Running, placed)
	}
	return s, nil
}

// Of so many nodes one loses its gangs after each situation, so that others come, large ones among them.
const emptied = 3

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
