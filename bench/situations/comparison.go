package situations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// Comparison of two ways to preempt on one scheduler, in turns, on the same cluster.
type Comparison struct {
	Ground
	// Preemptions are how many are played in each way.
	Preemptions int
}

// Trainers save for a second after 10 to 40 s.
const (
	saveSeconds                = 1
	shortestSave, spreadOfSave = 10, 31
)

func savesSeldom(r *rand.Rand) string {
	return savesEvery(shortestSave+r.IntN(spreadOfSave), fmt.Sprintf("%ds", saveSeconds))
}

// maxDelay is how long a gang may be made to wait for others' saves.
const maxDelay = 60 * time.Second

// Priority classes of gangs for which the operator preempts, and under which these wait. Their value is that
// of the benchmark's class of high priority.
const (
	asks      = "situations-asks"
	asksWaits = "situations-asks-waits"
)

// Run writes the record after each preemption. An interrupted one continues with the same versions and nodes.
func (c *Comparison) Run(ctx context.Context) (r Record, err error) {
	if !slices.Contains(schedulers.Brokers(), c.Scheduler) {
		return r, fmt.Errorf("the operator does not choose victims on %s; it does on %v", c.Scheduler,
			schedulers.Brokers())
	}
	// Gangs live for less than a minute here: no class shelters them, and a start takes a second.
	c.preemption = &config.Preemption{
		Mode: config.PreemptionBroker, MaxDelaySeconds: int(maxDelay.Seconds()), MaxRounds: 3,
		LossCapSeconds: 3600, UnknownStartSeconds: 1, MaxPlans: 8,
	}
	dir, err := os.MkdirTemp("", "situations-")
	if err != nil {
		return r, fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	on, err := c.up(ctx, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, on.down(context.WithoutCancel(ctx))) }()
	if err := on.addClasses(ctx); err != nil {
		return r, err
	}
	if r, err = c.begun(on.jobs.Describe().Versions); err != nil {
		return r, err
	}
	f := newFiller(&c.Ground, on, uint64(len(r.Preemptions)), savesSeldom)
	for nth := len(r.Preemptions); nth < 2*c.Preemptions; nth++ {
		if err := f.fill(ctx); err != nil {
			return r, err
		}
		p, s, gone, err := f.compare(ctx, nth)
		if err != nil {
			return r, err
		}
		r.Preemptions = append(r.Preemptions, p)
		if err := c.save(r); err != nil {
			return r, err
		}
		if err := f.replace(ctx, gone, s); err != nil {
			return r, err
		}
	}
	return r, nil
}

// addClasses creates the classes of preemptors.
func (on *cluster) addClasses(ctx context.Context) error {
	high := &schedulingv1.PriorityClass{}
	key := client.ObjectKey{Name: stack.PriorityClass(workload.PriorityHigh)}
	if err := on.api.Get(ctx, key, high); err != nil {
		return fmt.Errorf("reading the class of high priority: %w", err)
	}
	never := corev1.PreemptNever
	for _, class := range []*schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: asksWaits}, Value: high.Value, PreemptionPolicy: &never},
		{ObjectMeta: metav1.ObjectMeta{
			Name: asks, Annotations: map[string]string{v1alpha1.AnnotationWaitingClass: asksWaits},
		}, Value: high.Value},
	} {
		if err := on.api.Create(ctx, class); err != nil {
			return fmt.Errorf("creating priority class %s: %w", class.Name, err)
		}
	}
	return nil
}

// compare plays the nth preemption, one in each way for every size, and the first of two in either way. It
// returns who ran where, and the names of those that have to go after it.
func (f *filler) compare(
	ctx context.Context, nth int,
) (p Preemption, s sim.Situation, gone []string, err error) {
	pair := nth / 2
	p.Way = Taken
	if (nth+pair)%2 == 1 {
		p.Way = Asked
	}
	if s, err = f.preemptor(ctx, pair); err != nil {
		return p, s, nil, err
	}
	high := workload.Gang{
		Name: fmt.Sprintf("high-%03d", nth), Ranks: s.Ranks, GPUs: int(s.GPUs), Priority: workload.PriorityHigh,
	}
	p.GPUs = int64(high.Ranks * high.GPUs)
	f.say(fmt.Sprintf("preemption %d of %d GPUs, %s", nth+1, p.GPUs, p.Way))
	log, err := measure.NewAuditLog(f.on.AuditLog())
	if err != nil {
		return p, s, nil, err
	}
	submitted := time.Now()
	if err := f.on.submit(ctx, high, func(job *v1alpha1.TrainingJob) {
		if p.Way == Asked {
			job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = asks
		}
	}); err != nil {
		return p, s, nil, err
	}
	if err := f.on.until(ctx, high.Name+" runs", func(v view) bool { return v.runs(high) }); err != nil {
		return p, s, nil, err
	}
	p.WaitedSeconds = time.Since(submitted).Seconds()
	var after view
	if err := f.on.until(ctx, "no gang ends, and victims report why they wait", func(v view) bool {
		after = v
		return v.runs(high) && f.settled(v) && f.explained(v)
	}); err != nil {
		return p, s, nil, err
	}
	writes, err := operatorWrites(log)
	if err != nil {
		return p, s, nil, err
	}
	p.Writes = about(high.Name, submitted, writes)
	p.HandedOver = p.Way == Asked && after.jobs[high.Name].Status.Attempt > 1
	gone = []string{high.Name}
	for _, g := range f.gangs {
		if status := after.jobs[g.Name].Status; status.Attempt > 1 {
			gone = append(gone, g.Name)
			p.Victims = append(p.Victims, victimOf(g.Gang, &status, about(g.Name, endedAt(&status), writes)))
		}
	}
	return p, s, gone, nil
}

// explained reports whether the status of every waiting gang has a reason. Before that the operator still
// writes.
func (f *filler) explained(v view) bool {
	for _, g := range f.gangs {
		status := v.jobs[g.Name].Status
		if status.Phase != v1alpha1.PhaseQueued {
			continue
		}
		if b := status.Scheduling.Blocker; b == nil || b.ObservedTime == nil {
			return false
		}
	}
	return true
}

// victimOf a preemption, as its status tells after it.
func victimOf(g workload.Gang, status *v1alpha1.TrainingJobStatus, writes int) Victim {
	v := Victim{GPUs: int64(g.Ranks * g.GPUs), Writes: writes}
	if w := status.Work; w != nil {
		v.LostSeconds, v.Asked, v.Saved = float64(w.LostSteps)/rate, w.Asked > 0, w.Saved > 0
	}
	return v
}

func (c *Comparison) file() string { return filepath.Join(c.Out, c.Scheduler+".json") }

// begun is the record of an earlier run of the same programs, or an empty one.
func (c *Comparison) begun(versions map[string]string) (Record, error) {
	fresh := Record{Scheduler: c.Scheduler, Versions: versions, Nodes: c.Nodes}
	text, err := os.ReadFile(c.file())
	if errors.Is(err, os.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, fmt.Errorf("reading the record so far: %w", err)
	}
	var had Record
	if err := json.Unmarshal(text, &had); err != nil {
		return fresh, fmt.Errorf("reading %s: %w", c.file(), err)
	}
	if !had.continues(fresh) {
		return fresh, nil
	}
	return had, nil
}

func (c *Comparison) save(r Record) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encoding what happened: %w", err)
	}
	return result.WriteWhole(c.file(), append(text, '\n'))
}
