package calibrate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// filler makes gangs of low priority.
type filler struct {
	*Calibration
	on     *cluster
	random *rand.Rand
	gangs  []gang
	made   int
}

// fill the cluster until several random gangs in a row find no room. One comes after the other, each in a
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
	if err := f.on.submit(ctx, g, trainer(f.random)); err != nil {
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
