// Package play answers one question: what happens when one workload meets one stack?
//
// A Player submits the gangs in time, plays their users, their trainers and the machines that fail, watches,
// and returns what was measured. All that is decided lies in package timeline.
//
//	play.go      one run from its beginning to its end
//	recorder.go  what watches see goes into the timeline, and what follows from it is done
//	ground.go    what a cluster and a namespace need before gangs arrive
//	nodes.go     the fake nodes that a workload needs, and those that fail
//	quiet.go     when a cluster has nothing more to write
//	logs.go      what is kept of a run that went wrong
package play

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Player plays workloads on one session of a stack, one after the other.
type Player struct {
	// Config of an administrator's client without a limit.
	Config *rest.Config
	// AuditLog is the path of the API server's audit log.
	AuditLog string
	Session  stack.Session
	// Rehearsal is a run whose results do not count: it does not wait for late writes, before or after.
	Rehearsal bool
	// Keep leaves what the run has made, for a cluster that is taken down next.
	Keep bool
	// Next is what is played next, if anything: nodes that it has in addition are made while what this run has
	// made is deleted.
	Next *workload.Workload
	// Say receives the progress of a run, often; it must not block.
	Say func(string)
}

// errCut ends a run at its bound.
var errCut = errors.New("the run's bound has passed")

// clearTimeout bounds how long deleting everything may take, until the last pod is gone.
const clearTimeout = 5 * time.Minute

// Play one workload in a namespace of its own, which is made here and, but for Keep, is empty at the end.
// Nodes are as the workload needs them. An error means that nothing was measured; a run that does not end
// within the workload's Cut is none.
func (p *Player) Play(ctx context.Context, namespace string, w workload.Workload) (result.Run, error) {
	r, err := p.begin(ctx, namespace, w)
	if err != nil {
		return result.Run{}, err
	}
	defer r.stop(nil)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if err := r.watch(watching); err != nil {
		return result.Run{}, err
	}
	run, err := p.measure(ctx, r)
	if err != nil {
		return run, err
	}
	if len(r.failures()) > 0 {
		return run, errors.Join(r.failures()...)
	}
	if p.Keep {
		return run, nil
	}
	p.say("deleting everything")
	ctx, cancel := context.WithTimeoutCause(ctx, clearTimeout, errors.New("pods are left after 5 minutes"))
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.clear(ctx, r) })
	if n := p.Next; n != nil && n.GPUsPerNode == w.GPUsPerNode && n.Nodes > w.Nodes {
		group.Go(func() error { return shapeNodes(ctx, r.clients, n.Nodes, n.GPUsPerNode) })
	}
	return run, group.Wait()
}

// clear deletes everything and waits until all pods are gone.
func (p *Player) clear(ctx context.Context, r *recorder) error {
	if err := p.Session.Clear(ctx, r.namespace); err != nil {
		return fmt.Errorf("clearing up: %w", err)
	}
	if err := r.until(ctx, func() bool { return r.Counts().Pods == 0 }); err != nil {
		return fmt.Errorf("waiting for the pods to go: %w", err)
	}
	return nil
}

// begin makes the nodes, the namespace and its queues.
func (p *Player) begin(ctx context.Context, namespace string, w workload.Workload) (*recorder, error) {
	clients, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(p.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	p.say(fmt.Sprintf("making %d nodes", w.Nodes))
	if err := Ground(ctx, clients, namespace, w.Nodes, w.GPUsPerNode); err != nil {
		return nil, err
	}
	p.say("preparing its queues")
	if err := p.Session.Prepare(ctx, namespace, w); err != nil {
		return nil, fmt.Errorf("preparing the namespace: %w", err)
	}
	if !p.Rehearsal {
		if err := AwaitQuiet(ctx, p.AuditLog, calmFor, quietWithin); err != nil {
			return nil, err
		}
	}
	return newRecorder(ctx, p, clients, dyn, namespace, w), nil
}

// measure plays the workload between two readings of everything that is counted.
func (p *Player) measure(ctx context.Context, r *recorder) (result.Run, error) {
	run := result.Run{Workload: r.workload.Name, Began: time.Now()}
	audit, err := measure.NewAuditLog(p.AuditLog)
	if err != nil {
		return run, err
	}
	if err := measure.ResetPeaks(); err != nil {
		return run, err
	}
	before, err := measure.Used()
	if err != nil {
		return run, err
	}
	cut, err := r.play()
	if err != nil {
		return run, err
	}
	r.Summarize(r.workload.End, &run)
	if cut {
		run.CutAfter = r.workload.Cut.Seconds()
		run.Seconds = run.CutAfter
	}
	if !cut && !p.Rehearsal { // a run that was cut continues to write
		still := QuietFor
		if r.workload.Idle > 0 {
			still = SettledFor
		}
		if err := AwaitQuiet(ctx, p.AuditLog, still, quietWithin); err != nil {
			return run, err
		}
	}
	after, err := measure.Used()
	if err != nil {
		return run, err
	}
	used := after.Since(before)
	run.CPU, run.PeakMemory = used.CPU, used.PeakMemory
	if run.Writes, err = audit.Since(); err != nil {
		return run, err
	}
	if n := r.Unknown(); n > 0 {
		return run, fmt.Errorf("%d events of pods that belong to no gang of the workload", n)
	}
	if cut { // nor is it left alone
		return run, nil
	}
	return run, p.idle(ctx, r.workload.Idle, audit, &run)
}

// idle counts the writes while the cluster is left alone.
func (p *Player) idle(ctx context.Context, d time.Duration, audit *measure.AuditLog, run *result.Run) error {
	if d == 0 {
		return nil
	}
	p.say(fmt.Sprintf("leaving it alone for %s", d))
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var err error
	run.IdleWrites, err = audit.Since()
	return err
}

func (p *Player) say(what string) {
	if p.Say != nil {
		p.Say(what)
	}
}

// progress of a run, for people.
func (r *recorder) progress() string {
	c := r.Counts()
	parts := []string{
		fmt.Sprintf("%d of %d gangs submitted", c.Submitted, c.All), fmt.Sprintf("%d run", c.Running),
	}
	if r.workload.End == workload.EndFinished {
		parts = append(parts, fmt.Sprintf("%d finished", c.Finished))
	}
	return strings.Join(parts, ", ")
}
