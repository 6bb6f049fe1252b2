package simtrainer

import (
	"context"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

// silentInterval is how long a silent rank waits before it looks at its annotation again.
const silentInterval = 30 * time.Second

// Parts of a step that a rank computes; the rest it waits for others.
const (
	busyPart     = 0.5
	slowBusyPart = 0.95
)

// beatOf is what the agent of a rank sees of the trainer, at a time to which the trainer was advanced.
func beatOf(t Trainer, now time.Time, number int32) checkpoint.Beat {
	step, each := t.stepAt(now), 1/t.rate()
	b := checkpoint.Beat{
		Attempt: t.Config.Attempt, Phase: t.Phase, IdleSeconds: t.idleAt(now).Seconds(),
		CPUs: 1, State: checkpoint.ProcessRuns, // also of those that wait for others in a collective
	}
	if step > t.startStep() {
		b.StepSeconds, b.FirstStepSeconds = each, t.Config.Spec.Start.Seconds()+1/t.Config.Spec.Rate
		b.BusySeconds = busyPart / t.Config.Spec.Rate
		if t.Config.Spec.SlowRank.is(number) {
			b.BusySeconds = slowBusyPart * each
		}
		for _, p := range t.Config.Spec.Pauses {
			b.Labels = b.Labels || p.Step > 0 && p.Phase != checkpoint.PhaseTraining && p.Step <= step
			if p.Phase == checkpoint.PhaseTraining && p.Step > t.startStep() && p.Step < step {
				b.LongestPauseSeconds = max(b.LongestPauseSeconds, p.Length.Seconds())
			}
		}
	}
	if t.hasStalled() && t.Config.Spec.StallRank.is(number) {
		step--
		b.CPUs, b.State = 0.001, checkpoint.ProcessSleeps
	}
	if step > t.startStep() {
		b.Step = &step
	}
	b.StateSeconds = b.IdleSeconds
	return b
}

// idleAt is the time since the last progress: a step, or another phase.
func (t Trainer) idleAt(now time.Time) time.Duration {
	if !t.Frozen.IsZero() {
		return max(0, now.Sub(t.Frozen))
	}
	passed := max(0, now.Sub(t.Since))
	trains := t.Phase == checkpoint.PhaseTraining && t.PauseEnd.IsZero() && !t.Waiting && !t.hasStalled()
	if !trains {
		return passed
	}
	_, fraction := math.Modf(passed.Seconds() * t.rate())
	return time.Duration(fraction / t.rate() * float64(time.Second))
}

// beating is a pod that posts beats.
type beating struct {
	uid  types.UID
	stop func()
}

// startBeating lets the agent of a rank post beats, if it does not yet.
func (s *Simulator) startBeating(parent context.Context, pod *corev1.Pod, rank Rank) {
	key := client.ObjectKeyFromObject(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !rank.Beats || s.beating[key] != nil {
		return
	}
	logger := log.FromContext(parent)
	url, err := reportclient.BeatURL(rank.ReportTo.URL)
	if err != nil {
		logger.Error(err, "The rank posts no beats")
		return
	}
	tokens := &tokenSource{client: s.client, clock: s.clock, pod: pod, target: rank.ReportTo}
	poster := &reportclient.Client{
		URL: url, UserAgent: "trainingjob-agent/simulated", Token: tokens.get,
		CA: func() (string, error) { return rank.ReportTo.CA, nil },
	}
	began := s.clock.Now()
	beater := &reportclient.Beater{
		Post: func(ctx context.Context, b checkpoint.Beat) (*checkpoint.BeatAnswer, error) {
			if t, ok := s.trainerOf(rank.Gang); ok && t.Config.Spec.SilentRank.is(rank.Number) {
				return &checkpoint.BeatAnswer{MinIntervalSeconds: int32(silentInterval.Seconds())}, nil
			}
			return poster.PostBeat(ctx, b)
		},
		Beat: func() checkpoint.Beat {
			now := s.clock.Now()
			if t, ok := s.trainerOf(rank.Gang); ok {
				return beatOf(t, now, rank.Number)
			}
			return checkpoint.Beat{Attempt: rank.Attempt, IdleSeconds: max(0, now.Sub(began).Seconds())}
		},
		OnError: func(err error) {
			if err != nil {
				logger.Info("A beat was not taken, trying again", "error", err.Error())
			}
		},
		After: s.clock.After,
	}
	ctx, cancel := context.WithCancel(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		beater.Run(ctx)
	}()
	s.beating[key] = &beating{uid: pod.UID, stop: func() { cancel(); <-done }}
}

// stopBeating stops the beats of a pod, unless it has the current UID.
func (s *Simulator) stopBeating(key types.NamespacedName, current types.UID) {
	s.mu.Lock()
	b := s.beating[key]
	if b != nil && b.uid != current {
		delete(s.beating, key)
	}
	s.mu.Unlock()
	if b != nil && b.uid != current {
		b.stop() // without the lock, which a beat takes
	}
}

// trainerOf returns the trainer of a gang, which its rank 0 has.
func (s *Simulator) trainerOf(gang string) (Trainer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leaders {
		if l.rank.Gang == gang {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.trainer, true
		}
	}
	return Trainer{}, false
}
