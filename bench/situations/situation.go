package situations

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
)

// play one preemption, and return the names of those that have to go after it.
func (f *filler) play(ctx context.Context, nth int) (sim.Situation, []string, error) {
	s, err := f.preemptor(ctx, nth)
	if err != nil {
		return s, nil, err
	}
	if err := f.unsaved(ctx, &s); err != nil {
		return s, nil, err
	}
	high := workload.Gang{
		Name: fmt.Sprintf("high-%03d", nth), Ranks: s.Ranks, GPUs: int(s.GPUs), Priority: workload.PriorityHigh,
	}
	f.say(fmt.Sprintf("situation %d: %d x %d GPUs", nth, high.Ranks, high.GPUs))
	if err := f.on.submit(ctx, high, func(*v1alpha1.TrainingJob) {}); err != nil {
		return s, nil, err
	}
	var after view
	err = f.on.until(ctx, high.Name+" runs, and no gang ends", func(v view) bool {
		after = v
		return v.runs(high) && f.settled(v)
	})
	if err != nil {
		return s, nil, err
	}
	gone := []string{high.Name}
	for i, g := range f.gangs {
		status := after.jobs[g.Name].Status
		s.Running[i].Taken = status.Attempt > 1
		if s.Running[i].Taken {
			gone = append(gone, g.Name)
			if status.Work != nil {
				s.Running[i].Lost = status.Work.LostSteps
			}
		}
	}
	return s, gone, nil
}

// preemptor returns a gang that does not fit; the sizes take turns.
func (f *filler) preemptor(ctx context.Context, nth int) (sim.Situation, error) {
	for ; ; nth++ {
		ranks, gpus := f.shape(nth)
		s, err := f.before(ctx, ranks, gpus)
		if err != nil || !s.Fits(f.Nodes, gpusPerNode) {
			return s, err
		}
	}
}

// settled: every gang runs, or waits after it was ended.
func (f *filler) settled(v view) bool {
	for _, g := range f.gangs {
		job := v.jobs[g.Name]
		waits := job.Status.Attempt > 1 && job.Status.Phase == v1alpha1.PhaseQueued
		if !waits && !v.runs(g.Gang) {
			return false
		}
	}
	return true
}

// placed says where a gang runs that was never ended.
func placed(v view, g gang) (sim.Placed, error) {
	p := sim.Placed{GPUs: int64(g.GPUs), Age: time.Since(g.began).Seconds(), On: map[int]int{}}
	if !v.runs(g.Gang) || v.jobs[g.Name].Status.Attempt != 1 {
		return p, fmt.Errorf("%s ended without a preemptor: %s", g.Name, v)
	}
	for _, pod := range v.pods[g.Name] {
		i, err := numberOf(pod.Spec.NodeName)
		if err != nil {
			return p, err
		}
		p.On[i]++
	}
	return p, nil
}

// numberOf a fake node.
func numberOf(node string) (int, error) {
	i := strings.LastIndexFunc(node, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.Atoi(node[i+1:])
	if err != nil {
		return 0, fmt.Errorf("node %s has no number: %w", node, err)
	}
	return n, nil
}

// unsaved steps of all gangs, as their trainers know them.
func (f *filler) unsaved(ctx context.Context, s *sim.Situation) error {
	v, err := f.on.look(ctx)
	if err != nil {
		return err
	}
	trainers, err := simtrainer.OpenStateFile(f.on.volume)
	if err != nil {
		return err
	}
	now := time.Now()
	for i, g := range f.gangs {
		for _, pod := range v.pods[g.Name] {
			if t, ok := trainers.Trainer(pod.UID); ok { // that of rank 0
				status, _ := t.Status(now)
				s.Running[i].Unsaved = status.Step - t.Saved
			}
		}
	}
	return nil
}
