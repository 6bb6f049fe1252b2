package timeline

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// kept is the maximum number of transitions in a status (v1alpha1.TrainingJobStatus.Transitions).
const kept = 20

// Of returns the entries of a job's status.
func Of(job *v1alpha1.TrainingJob) []Entry {
	st := &job.Status
	var phases []Entry
	if len(st.Transitions) >= kept {
		phases = append(phases, Entry{
			Kind: Gap, Message: fmt.Sprintf("the status keeps only the last %d changes of phase: earlier ones "+
				"are missing, and some between these can be", kept),
		})
	}
	for _, t := range st.Transitions {
		phases = append(phases, Entry{Time: timeOf(&t.Time), Kind: PhaseEntered, Phase: t.Phase, Reason: t.Reason})
	}
	others := []Entry{{Time: timeOf(&job.CreationTimestamp), Kind: Created}}
	if c := st.Checkpoint; c != nil {
		if l := c.Latest; l != nil {
			others = append(others, checkpoint(l))
		}
		if from := c.ResumeFrom; from != nil {
			others = append(others, resumption(from, st.Attempt, lastQueued(st)))
		}
	}
	if f := st.LastFailure; f != nil {
		others = append(others, Entry{
			Time: timeOf(f.Time), Kind: RankFailed, Attempt: f.Attempt, Reason: f.Reason, Message: failure(f),
		})
	}
	others = append(others, waysOf(st.Rehearsal)...)
	if st.Scheduling != nil {
		others = append(others, reservationsOf(st.Scheduling)...)
	}
	if job.DeletionTimestamp != nil {
		others = append(others, Entry{Time: timeOf(job.DeletionTimestamp), Kind: Deleted})
	}
	return merge(gapless(phases, len(st.Transitions) < kept), others)
}

// waysOf a rehearsal, as far as they were played.
func waysOf(r *v1alpha1.RehearsalStatus) []Entry {
	if r == nil {
		return nil
	}
	var all []Entry
	for _, a := range r.Attempts {
		if a.Way == "" {
			continue
		}
		e := Entry{
			Time: timeOf(a.EndTime), Kind: WayPlayed, Attempt: a.Attempt, Reason: string(a.Way), Step: a.EndStep,
		}
		if a.Interrupted {
			e.Message = "something else ended the attempt first: the way is played again"
		}
		all = append(all, e)
	}
	return all
}

// reservationsOf returns when the reservation for the gang began and lapsed, and since when one holds it.
func reservationsOf(s *v1alpha1.SchedulingStatus) []Entry {
	var all []Entry
	if r := s.Reservation; r != nil && r.Phase != v1alpha1.ReservationPlanned {
		e := Entry{Time: timeOf(&r.SinceTime), Kind: Reserved}
		if n := len(r.Nodes); n > 0 {
			e.Message = "1 node"
			if n > 1 {
				e.Message = fmt.Sprintf("%d nodes", n)
			}
		}
		all = append(all, e)
		if r.Phase == v1alpha1.ReservationLapsed {
			all = append(all, Entry{Time: timeOf(&r.ChangedTime), Kind: Lapsed, Reason: string(r.Reason)})
		}
	}
	if b := s.Backfill; b != nil && b.HeldSinceTime != nil {
		all = append(all, Entry{Time: timeOf(b.HeldSinceTime), Kind: HeldBack})
	}
	return all
}

// gapless sets the durations of the phases if no transition can be missing.
func gapless(phases []Entry, complete bool) []Entry {
	if !complete {
		return phases
	}
	return withDurations(phases)
}

// lastQueued returns when the current attempt was queued, or nil if the status does not have it.
func lastQueued(st *v1alpha1.TrainingJobStatus) *time.Time {
	for i := len(st.Transitions) - 1; i >= 0; i-- {
		if st.Transitions[i].Phase == v1alpha1.PhaseQueued {
			return timeOf(&st.Transitions[i].Time)
		}
	}
	return nil
}

func failure(f *v1alpha1.FailureStatus) string {
	parts := []string{f.PodName}
	if f.Node != "" {
		parts = append(parts, "on "+f.Node)
	}
	if f.ExitCode != nil {
		parts = append(parts, fmt.Sprintf("exited with %d", *f.ExitCode))
	} else {
		parts = append(parts, "failed, exit code unknown")
	}
	return strings.Join(parts, " ")
}

// OfRecord returns the entries of a job's record in the history.
func OfRecord(r history.Record) []Entry {
	var phases []Entry
	for _, t := range r.Transitions {
		phases = append(phases, Entry{
			Time: new(t.Time), Kind: PhaseEntered, Phase: t.Phase, Reason: t.Reason, Attempt: t.Attempt,
		})
	}
	phases = withGaps(phases)
	others := []Entry{{Time: new(r.Job.Created), Kind: Created}}
	for _, a := range r.Attempts {
		if a.ResumedFrom != nil {
			others = append(others, resumption(a.ResumedFrom, a.Number, a.Queued))
		}
	}
	for _, p := range r.Preemptions {
		e := Entry{
			Time: new(p.Time), Kind: Preempted, Attempt: p.Attempt, Reason: p.Reason, Message: p.Message, By: p.By,
		}
		if p.Lost != nil {
			e.LostSteps, e.LostGPUSeconds = new(p.Lost.Steps), new(p.Lost.GPUSeconds)
		}
		others = append(others, e)
	}
	for _, c := range r.Checkpoints {
		others = append(others, Entry{
			Time: c.Time, Kind: CheckpointSaved, Attempt: c.Attempt, Step: new(c.Step), URI: c.URI,
		})
	}
	switch j := r.Job; {
	case j.Deleted != nil:
		others = append(others, Entry{Time: j.Deleted, Kind: Deleted})
	case j.DeletedBefore != nil:
		others = append(others, Entry{
			Time: j.DeletedBefore, Kind: Deleted, Message: "deleted before this time; the exact time is unknown",
		})
	}
	return merge(phases, others)
}

// withGaps inserts an entry where the attempt of a transition is unknown or an attempt is missing: the status
// had dropped the transitions between.
func withGaps(phases []Entry) []Entry {
	var all []Entry
	attempt := int32(1)
	open := false
	for _, e := range phases {
		missing := e.Attempt == 0 || e.Attempt > attempt+1
		if missing && !open {
			all = append(all, Entry{
				Kind: Gap, Message: "some changes of phase are missing",
			})
		}
		open = e.Attempt == 0
		attempt = max(attempt, e.Attempt)
		all = append(all, e)
	}
	return withDurations(all)
}

func checkpoint(c *v1alpha1.CheckpointPoint) Entry {
	return Entry{Time: timeOf(c.Time), Kind: CheckpointSaved, Step: new(c.Step), URI: c.URI}
}

func resumption(c *v1alpha1.CheckpointPoint, attempt int32, at *time.Time) Entry {
	return Entry{Time: at, Kind: Resumed, Attempt: attempt, Step: new(c.Step), URI: c.URI}
}

func timeOf(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
