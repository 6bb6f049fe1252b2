package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Rehearsal is what a job with spec.rehearsal has shown so far.
type Rehearsal struct {
	// Of is the job that it is a copy of; empty if its label names none.
	Of string `json:"of,omitempty"`
	// Revision of that job's spec; empty if its annotation names none.
	Revision string `json:"revision,omitempty"`
	// Result is empty while it runs, and if the operator could not give one.
	Result v1alpha1.RehearsalResult `json:"result,omitempty"`
	// Summary of the result, or of what is played now, in one sentence.
	Summary string `json:"summary"`
	// Ways to end attempts, in their order. Played is how many of them were played.
	Ways   []v1alpha1.RehearsalWay `json:"ways"`
	Played int32                   `json:"played"`
	// Ranks that rehearse, and Attempts that have trained.
	Ranks    int32 `json:"ranks"`
	Attempts int32 `json:"attempts"`
	// Seconds from the first start to the end; 0 before the end, or if unknown.
	Seconds int64 `json:"seconds,omitempty"`
	// SaveSeconds is the longest save, and GraceSeconds what it can take. 0: no save was seen.
	SaveSeconds  int64 `json:"saveSeconds,omitempty"`
	GraceSeconds int32 `json:"graceSeconds"`
	// StartSeconds is the longest time from the trainer's start to its first step; 0 if unknown.
	StartSeconds int64 `json:"startSeconds,omitempty"`
	// Checks by name, in the order in which they can be made.
	Checks []RehearsalCheck `json:"checks,omitempty"`
}

// RehearsalCheck is one result of a rehearsal.
type RehearsalCheck struct {
	Name    v1alpha1.RehearsalCheckName `json:"name"`
	Outcome v1alpha1.RehearsalOutcome   `json:"outcome"`
	// Attempt that decided the outcome; 0 if several did.
	Attempt int32 `json:"attempt,omitempty"`
	// Message with what was seen, and the remedy of a failure.
	Message string `json:"message,omitempty"`
}

// Rehearsed is the newest rehearsal of a job.
type Rehearsed struct {
	// Name of the rehearsal, a job in the same namespace.
	Name string `json:"name"`
	// Result is empty while it runs, and if the operator could not give one.
	Result v1alpha1.RehearsalResult `json:"result,omitempty"`
	// Ended is when it ended; nil while it runs.
	Ended *time.Time `json:"ended,omitempty"`
	// SameSpec reports whether it holds for the job's current spec; nil if it does not name its spec.
	SameSpec *bool `json:"sameSpec,omitempty"`
	// Ranks that rehearsed.
	Ranks int32 `json:"ranks"`
	// Summary in one sentence, without the time.
	Summary string `json:"summary"`
}

// defaultWays are those of spec.rehearsal.ways.
var defaultWays = []v1alpha1.RehearsalWay{
	v1alpha1.RehearsalKill, v1alpha1.RehearsalAsk, v1alpha1.RehearsalTerm, v1alpha1.RehearsalKillInSave,
}

// rehearsalOf returns nil for a job that is no rehearsal.
func rehearsalOf(job *v1alpha1.TrainingJob) *Rehearsal {
	if job.Spec.Rehearsal == nil {
		return nil
	}
	r := &Rehearsal{
		Of: job.Labels[v1alpha1.LabelRehearsalOf], Revision: job.Annotations[v1alpha1.AnnotationRehearsalRevision],
		Ways: job.Spec.Rehearsal.Ways, Ranks: spec.Ranks(job), GraceSeconds: spec.DefaultGraceSeconds,
	}
	if len(r.Ways) == 0 {
		r.Ways = defaultWays
	}
	if c := job.Spec.Checkpoint; c != nil {
		r.GraceSeconds = spec.OrDefault(c.GraceSeconds, spec.DefaultGraceSeconds)
	}
	if st := job.Status.Rehearsal; st != nil {
		r.Result, r.Attempts = st.Result, int32(len(st.Attempts))
		for _, c := range st.Checks {
			r.Checks = append(r.Checks, RehearsalCheck{c.Name, c.Outcome, c.Attempt, c.Message})
		}
		r.measure(st.Attempts)
	}
	if from, to := job.Status.StartTime, job.Status.CompletionTime; from != nil && to != nil {
		r.Seconds = max(0, int64(to.Sub(from.Time)/time.Second))
	}
	r.Summary = r.summary(job)
	return r
}

// measure counts the ways that were played, and takes the longest save and start of all attempts.
func (r *Rehearsal) measure(attempts []v1alpha1.RehearsalAttempt) {
	inSeconds := func(milliseconds int64) int64 { return (milliseconds + 999) / 1000 }
	for _, a := range attempts {
		if a.Way != "" && !a.Interrupted {
			r.Played++
		}
		if a.SavedAfterSeconds != nil {
			r.SaveSeconds = max(r.SaveSeconds, *a.SavedAfterSeconds)
		}
		if e := a.Evidence; e != nil {
			r.SaveSeconds = max(r.SaveSeconds, inSeconds(e.SaveMilliseconds))
			r.StartSeconds = max(r.StartSeconds, inSeconds(e.StartMilliseconds))
		}
	}
}

func (r *Rehearsal) summary(job *v1alpha1.TrainingJob) string {
	switch r.Result {
	case v1alpha1.RehearsalResultPassed:
		return "Passed: the trainer resumes after " + wayList(r.Ways)
	case v1alpha1.RehearsalResultFailed:
		return "Failed: " + strings.Join(namesOf(r.Checks, v1alpha1.RehearsalFailed), ", ")
	case v1alpha1.RehearsalResultIncomplete:
		return "Incomplete: " + r.missing()
	}
	if job.Status.Phase.Finished() {
		return "No result: " + r.missing()
	}
	return r.playing(job)
}

// missing returns what an incomplete rehearsal did not show.
func (r *Rehearsal) missing() string {
	if n := int(r.Played); n < len(r.Ways) {
		return fmt.Sprintf("%d of %d ways were played", n, len(r.Ways))
	}
	for _, c := range r.Checks {
		required := c.Name == v1alpha1.CheckSaves || c.Name == v1alpha1.CheckResumes
		if required && c.Outcome == v1alpha1.RehearsalNotSeen {
			return string(c.Name) + " was not seen"
		}
	}
	return fmt.Sprintf("all %d ways were played", len(r.Ways))
}

// playing returns what the operator does now.
func (r *Rehearsal) playing(job *v1alpha1.TrainingJob) string {
	current := v1alpha1.RehearsalAttempt{Attempt: job.Status.Attempt}
	if st := job.Status.Rehearsal; st != nil {
		for _, a := range st.Attempts {
			if a.Attempt == current.Attempt {
				current = a
			}
		}
	}
	n, total := int(r.Played), len(r.Ways)
	switch {
	case current.Way != "" && !current.Interrupted:
		return fmt.Sprintf("the operator ends attempt %d by %s (way %d of %d)", current.Attempt, current.Way, n,
			total)
	case n >= total:
		return fmt.Sprintf("attempt %d must resume (all %d ways were played)", current.Attempt, total)
	case job.Status.Phase == v1alpha1.PhaseRunning:
		return fmt.Sprintf("attempt %d trains; %s ends it (way %d of %d)", current.Attempt, r.Ways[n], n+1, total)
	}
	return fmt.Sprintf("%s comes next (way %d of %d)", r.Ways[n], n+1, total)
}

// UnknownRehearsals is for Unknown, where the rehearsals of a job cannot be read.
const UnknownRehearsals = "whether the job was rehearsed is unknown: its namespace's jobs cannot be listed"

// AddRehearsals sets Rehearsed from the rehearsals of the job among others, such as all jobs of its
// namespace.
func (e *Explanation) AddRehearsals(job *v1alpha1.TrainingJob, among []*v1alpha1.TrainingJob) {
	var newest *v1alpha1.TrainingJob
	for _, other := range among {
		if other.Namespace != job.Namespace || other.Labels[v1alpha1.LabelRehearsalOf] != job.Name ||
			other.Spec.Rehearsal == nil || other.Name == job.Name {
			continue
		}
		if newest == nil || newer(other, newest) {
			newest = other
		}
	}
	if newest == nil {
		return
	}
	r := rehearsalOf(newest)
	e.Rehearsed = &Rehearsed{Name: newest.Name, Result: r.Result, Ranks: r.Ranks}
	if newest.Status.Phase.Finished() {
		e.Rehearsed.Ended = timeOf(newest.Status.CompletionTime)
	}
	if r.Revision != "" {
		e.Rehearsed.SameSpec = new(r.Revision == spec.Revision(job))
	}
	e.Rehearsed.Summary = rehearsedSummary(e.Rehearsed, r, spec.Ranks(job))
}

func newer(a, b *v1alpha1.TrainingJob) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) > 0
}

func rehearsedSummary(of *Rehearsed, r *Rehearsal, ranks int32) string {
	text := r.Summary
	switch {
	case of.Result == v1alpha1.RehearsalResultPassed:
		text = "Passed"
	case of.Result == "" && of.Ended == nil:
		text = "running: " + text
	}
	if of.Ranks != ranks {
		text += fmt.Sprintf(", %d of %d ranks", of.Ranks, ranks)
	}
	switch {
	case of.SameSpec == nil:
		return text + ", spec unknown"
	case *of.SameSpec:
		return text + ", same spec"
	}
	return text + ", the spec has changed since"
}

// next returns what the user of a rehearsal that has ended can do; empty after a pass.
func (r *Rehearsal) next() string {
	again := ", then delete the rehearsal and apply it again"
	if r.Of != "" {
		again = ", then rehearse again: kubectl tj rehearse " + r.Of + " --replace"
	}
	switch {
	case r.Result == v1alpha1.RehearsalResultPassed:
		return ""
	case r.Result == v1alpha1.RehearsalResultFailed:
		return "fix what the failed checks name" + again
	case r.Result == "":
		return "fix why the job ended" + again
	}
	return "do what its message names" + again
}

func namesOf(checks []RehearsalCheck, outcome v1alpha1.RehearsalOutcome) []string {
	var names []string
	for _, c := range checks {
		if c.Outcome == outcome {
			names = append(names, string(c.Name))
		}
	}
	return names
}

// wayList joins ways as in a sentence, each once.
func wayList(ways []v1alpha1.RehearsalWay) string {
	var all []string
	for _, way := range ways {
		if !slices.Contains(all, string(way)) {
			all = append(all, string(way))
		}
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " and " + all[last]
}
