package controller

import (
	"context"
	"math"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/liveness"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// gatherBeats reads the beats of the ranks of a job that is watched.
func (g *gatherer) gatherBeats(ctx context.Context, s *memory.Observed) {
	s.LeadsSince = g.leadsSince()
	mode := spec.LivenessMode(s.Job, s.Agent.Liveness, s.Agent.MaxLiveness)
	if g.beats == nil || mode == v1alpha1.LivenessOff {
		return
	}
	s.BeatInterval = g.beats.Interval()
	switch s.Job.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining:
		s.Beats = g.beats.Of(s.Job.UID)
	}
	job, now, agent := s.Job, s.Now, s.Agent
	s.Hangs = func() observation.Hangs { return g.countHangs(ctx, job, agent, now) }
}

// countHangs counts the hangs of all jobs in the cache. If it cannot read them, it returns so many restarts
// that the operator restarts no other gang.
func (g *gatherer) countHangs(
	ctx context.Context, job *v1alpha1.TrainingJob, agent render.Agent, now time.Time,
) observation.Hangs {
	all := &v1alpha1.TrainingJobList{}
	if err := g.client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil { // nothing here changes them
		log.FromContext(ctx).Error(err, "Listing the jobs to count hangs")
		return observation.Hangs{Restarts: math.MaxInt32}
	}
	h := observation.Hangs{}
	stopped := observation.StoppedAt(job.Status.Liveness)
	for i := range all.Items {
		other := &all.Items[i]
		if spec.ManagedElsewhere(other) {
			continue
		}
		h.Restarts += hangRestarts(other, now)
		if other.Status.Phase != v1alpha1.PhaseRunning {
			continue
		}
		h.Running++
		if spec.LivenessMode(other, agent.Liveness, agent.MaxLiveness) == v1alpha1.LivenessOff {
			continue
		}
		h.Watched++
		l := other.Status.Liveness
		apart := observation.StoppedAt(l).Sub(stopped).Abs()
		if l != nil && l.State == v1alpha1.LivenessHung && apart <= liveness.RestartWindow {
			h.Together++
		}
	}
	return h
}

// hangRestarts counts the restarts of a job for hangs within liveness.RestartWindow.
func hangRestarts(job *v1alpha1.TrainingJob, now time.Time) int {
	n := 0
	for _, t := range job.Status.Transitions {
		if t.Phase == v1alpha1.PhaseDraining && t.Reason == v1alpha1.ReasonGangHung &&
			now.Sub(t.Time.Time) < liveness.RestartWindow {
			n++
		}
	}
	return n
}
