package sim

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// run is one attempt of a job.
type run struct {
	*Job
	// base is the work that earlier runs had saved.
	base  time.Duration
	began time.Duration
	// on is how many of the ranks each node has.
	on map[int]int
	// holds is the same for the planner, where there is one.
	holds map[string]scheduler.Amounts
	// asked is when it stops to save and end; negative while it is not asked.
	asked time.Duration
	// ended is true once it holds no GPUs. deadline is when it is ended, where its gang has one.
	ended    bool
	deadline time.Duration
	// pass with which it started.
	pass *reservation.Pass
}

// trains is when its first step begins.
func (r *run) trains() time.Duration { return r.began + r.Start }

// at is the work that is done and the work that is saved at a time. It saves after each interval, and stands
// still meanwhile.
func (r *run) at(now time.Duration) (done, saved time.Duration) {
	trained := max(0, now-r.trains())
	cycles := trained / (r.Interval + r.Save)
	within := min(trained%(r.Interval+r.Save), r.Interval)
	saved = r.base + cycles*r.Interval
	return min(r.Work, saved+within), saved
}

// lastSave is when it last finished to save; began where it has not.
func (r *run) lastSave(now time.Duration) time.Duration {
	cycles := max(0, now-r.trains()) / (r.Interval + r.Save)
	if cycles == 0 {
		return r.began
	}
	return r.trains() + cycles*(r.Interval+r.Save)
}

// finishes is when all of its work is done.
func (r *run) finishes() time.Duration {
	left := r.Work - r.base
	saves := (left - 1) / r.Interval
	return r.trains() + left + saves*r.Save
}
