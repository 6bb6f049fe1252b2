package sim

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

// Result of a simulation. Times of GPUs are summed over all GPUs.
type Result struct {
	// Makespan is when the last gang finished.
	Makespan time.Duration
	// Lost is work that was done again, Restart the starts after preemptions. Idle is what was held while it was
	// saved on demand, and what victims had left for the preemptor until it started.
	Lost, Restart, Idle time.Duration
	Preemptions         int
	// Useful is the work that was done, and not lost again, when gangs ceased to arrive.
	Useful time.Duration
	// Waits for a first start, and times from arrival to the end, by value.
	Waits, Completions map[int32][]time.Duration

	// Plans that were made, gangs that were asked to save, and plans that were handed over.
	Plans, Asked, HandedOver int
	// Asking is the longest time from when a plan was made until the last of its victims had ended.
	Asking time.Duration

	// FirstWaits of all gangs, in the order of their starts.
	FirstWaits []Wait
	// Delays of the gangs that finished: the time from arrival to end, less the work.
	Delays []Wait
	// Recalls of gangs in lent capacity, Failures of gangs and nodes, and gangs that Expired at their deadlines.
	Recalls, Failures, Expired int
	// Reservations that began, Lapsed ones, and how often their nodes Moved. LongestHold of a gang that fitted.
	Reservations, Lapsed, Moved int
	LongestHold                 time.Duration

	// Forecasts of each way to give them, of the gangs that waited, in the order of their starts.
	Forecasts [][]Forecast
}

// Wait of a gang.
type Wait struct {
	GPUs int64
	Time time.Duration
}

// count a change of a reservation.
func (r *Result) count(was, is *reservation.Reservation) {
	switch {
	case is == nil:
	case is.Phase == reservation.Lapsed:
		r.Lapsed++
	case was == nil || was.Phase == reservation.Lapsed:
		r.Reservations++
	default:
		r.Moved += is.Moved - was.Moved
	}
}

// Waste is all of it.
func (r *Result) Waste() time.Duration { return r.Lost + r.Restart + r.Idle }

// Mean of some times; 0 of none.
func Mean(of []time.Duration) time.Duration {
	var sum time.Duration
	for _, t := range of {
		sum += t
	}
	return sum / time.Duration(max(1, len(of)))
}

func (r *Result) started(w *waiting, now time.Duration) {
	for _, f := range w.freed {
		r.idle(f.gpus, now-f.at)
	}
	if w.attempts > 0 {
		r.Restart += time.Duration(w.Total()) * w.Start
		return
	}
	r.FirstWaits = append(r.FirstWaits, Wait{w.Total(), now - w.Arrives})
	if r.Waits == nil {
		r.Waits, r.Completions = map[int32][]time.Duration{}, map[int32][]time.Duration{}
	}
	r.Waits[w.Value] = append(r.Waits[w.Value], now-w.Arrives)
}

func (r *Result) finished(j *Job, now time.Duration) {
	r.Delays = append(r.Delays, Wait{j.Total(), now - j.Arrives - j.Work})
	r.Completions[j.Value] = append(r.Completions[j.Value], now-j.Arrives)
}

func (r *Result) lost(v *run, work time.Duration) { r.Lost += time.Duration(v.Total()) * work }

func (r *Result) idle(gpus int64, t time.Duration) { r.Idle += time.Duration(gpus) * t }
