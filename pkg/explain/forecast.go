package explain

import (
	"fmt"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// Forecast is when a job probably starts and ends, as of the operator's last write.
type Forecast struct {
	// Start of a queued job; nil for others.
	Start *Start `json:"start,omitempty"`
	// End of the job; nil if it depends on a start that is unknown.
	End *End `json:"end,omitempty"`
	// Judged is what became of the first forecast of the start; nil: it is not judged.
	Judged *Judged `json:"judged,omitempty"`
	// NextStep makes an unknown time known; empty if there is none.
	NextStep string `json:"nextStep,omitempty"`
}

// Start is when a queued gang probably starts.
type Start struct {
	// Time of the start; nil if Unknown is set. Earliest is a time before which it hardly starts; nil: unknown.
	Time     *time.Time `json:"time,omitempty"`
	Earliest *time.Time `json:"earliest,omitempty"`
	// Latest is the time until which it probably has started; nil if Unknown is set.
	Latest *time.Time `json:"latest,omitempty"`
	// HitPercent of the last HitOf forecasts of its kind held.
	HitPercent int32 `json:"hitPercent,omitempty"`
	HitOf      int32 `json:"hitOf,omitempty"`
	// Position within the queue, from 1; 0: unknown.
	Position int32 `json:"position,omitempty"`
	// Behind is what the start depends on.
	Behind []Dependency `json:"behind,omitempty"`
	// Unknown is why there is no time, and Meaning explains it.
	Unknown  v1alpha1.StartUnknown `json:"unknown,omitempty"`
	Meaning  string                `json:"meaning,omitempty"`
	Observed time.Time             `json:"observed"`
}

// Judged is the first forecast of a start, and what became of it.
type Judged struct {
	Earliest time.Time               `json:"earliest"`
	Latest   time.Time               `json:"latest"`
	Result   v1alpha1.ForecastResult `json:"result"`
	// Summary in one phrase, without the times.
	Summary string `json:"summary"`
}

// Dependency is something that a start depends on.
type Dependency struct {
	What v1alpha1.StartDependencyKind `json:"what"`
	// Summary describes it, without the time.
	Summary string `json:"summary"`
	// Name of the job or quota; empty for a job of another namespace.
	Name string `json:"name,omitempty"`
	// Time when it happens; nil: unknown.
	Time *time.Time `json:"time,omitempty"`
	GPUs int64      `json:"gpus,omitempty"`
}

// End is when a job probably ends.
type End struct {
	// Time of the end; nil if Unknown is set. Earliest is a time before which it hardly ends; nil: unknown.
	Time     *time.Time `json:"time,omitempty"`
	Earliest *time.Time `json:"earliest,omitempty"`
	// By is what the time is computed from, as a phrase.
	By string `json:"by,omitempty"`
	// Unknown is why there is no time, and Meaning explains it.
	Unknown  v1alpha1.EndUnknown `json:"unknown,omitempty"`
	Meaning  string              `json:"meaning,omitempty"`
	Observed time.Time           `json:"observed"`
}

// starts and ends have the meaning of each reason, and the next step.
var (
	starts = map[v1alpha1.StartUnknown]struct{ means, next string }{
		v1alpha1.StartNoEndKnown:    {"it depends on jobs or pods whose end is unknown", ""},
		v1alpha1.StartNotCalibrated: {"", "wait: the operator judges each forecast when its gang starts"},
		v1alpha1.StartTooFarAhead: {"it starts later than the operator estimates",
			"look again later: forecast.horizonSeconds and forecast.considered of the operator bound the estimate"},
		v1alpha1.StartQueueUnknown: {"the operator does not know what its queue may use",
			"read the reason of the wait: kubectl tj explain"},
		v1alpha1.StartNotComplete: {"the operator does not see the jobs and pods of all namespaces",
			"ask the admin for an operator without watchNamespaces"},
		v1alpha1.StartSchedulerDecides: {"it depends on decisions of the scheduler that are not estimated",
			"see its position: borrowed quota, new nodes and topologies are not estimated"},
	}
	ends = map[v1alpha1.EndUnknown]struct{ means, next string }{
		v1alpha1.EndNoReports: {"the trainer has reported no step",
			"let the trainer report its steps (docs/checkpoints.md), or set runPolicy.expectedSeconds"},
		v1alpha1.EndNoTotalSteps: {"the trainer does not report totalSteps",
			"let the trainer report totalSteps, or set runPolicy.expectedSeconds"},
		v1alpha1.EndTooFewReports: {"the operator has not measured the time of a step yet",
			"wait for five reports with new steps"},
		v1alpha1.EndLengthUnknown: {"nothing tells how long the job runs", "set runPolicy.expectedSeconds"},
	}
	results = map[v1alpha1.ForecastResult]string{
		v1alpha1.ForecastHeld:  "it started as first estimated",
		v1alpha1.ForecastEarly: "it started earlier than first estimated",
		v1alpha1.ForecastLate:  "it is later than first estimated",
	}
	bases = map[v1alpha1.ForecastBasis]string{
		v1alpha1.ForecastSteps: "by its steps", v1alpha1.ForecastExpected: "by expectedSeconds",
		v1alpha1.ForecastSimilar:  "by similar jobs",
		v1alpha1.ForecastDeadline: "at the latest, by activeDeadlineSeconds",
	}
)

// EndOf returns when a running job probably ends: by the operator's forecast, else at the speed that its
// trainer reported; nil: unknown.
func EndOf(job *v1alpha1.TrainingJob) *time.Time {
	if job.Status.Phase != v1alpha1.PhaseRunning {
		return nil
	}
	if s := job.Status.Scheduling; s != nil && s.EstimatedEnd != nil && s.EstimatedEnd.Time != nil {
		return timeOf(s.EstimatedEnd.Time)
	}
	if p := job.Status.Progress; p != nil {
		return timeOf(p.EstimatedCompletionTime)
	}
	return nil
}

// forecastOf returns nil if the status has no forecast.
func forecastOf(s *v1alpha1.SchedulingStatus) *Forecast {
	f := &Forecast{
		Start: startOf(s.EstimatedStart), End: endOf(s.EstimatedEnd), Judged: judgedOf(s.FirstForecast),
	}
	if *f == (Forecast{}) {
		return nil
	}
	if e := s.EstimatedEnd; e != nil {
		f.NextStep = ends[e.Unknown].next
	}
	if e := s.EstimatedStart; e != nil && e.Unknown != "" {
		f.NextStep = nextForStart(e)
	}
	return f
}

func startOf(e *v1alpha1.EstimatedStart) *Start {
	if e == nil {
		return nil
	}
	out := &Start{
		Time: timeOf(e.Time), Earliest: timeOf(e.Earliest), Latest: timeOf(e.Latest),
		HitPercent: e.HitPercent, HitOf: e.HitOf, Position: e.Position, Unknown: e.Unknown,
		Meaning: starts[e.Unknown].means, Observed: e.ObservedTime.UTC(),
	}
	if e.Unknown == v1alpha1.StartNotCalibrated {
		out.Meaning = notCalibrated(e)
	}
	for i := range e.Behind {
		b := &e.Behind[i]
		out.Behind = append(out.Behind, Dependency{
			What: b.What, Summary: summaryOfDependency(b), Name: b.Name, Time: timeOf(b.Time), GPUs: b.GPUs,
		})
	}
	return out
}

// notCalibrated returns why the operator shows no time.
func notCalibrated(e *v1alpha1.EstimatedStart) string {
	switch {
	case e.HitOf < forecast.MinJudged:
		return fmt.Sprintf("only %d of %d forecasts of its kind are judged", e.HitOf, forecast.MinJudged)
	case e.HitPercent < forecast.MinHitPercent:
		return fmt.Sprintf("only %d%% of the last %d such forecasts held", e.HitPercent, e.HitOf)
	}
	return "its interval is too wide"
}

func judgedOf(f *v1alpha1.FirstForecast) *Judged {
	if f == nil || f.Result == "" {
		return nil
	}
	return &Judged{
		Earliest: f.Earliest.UTC(), Latest: f.Latest.UTC(), Result: f.Result, Summary: results[f.Result],
	}
}

// summaryOfDependency in one phrase.
func summaryOfDependency(b *v1alpha1.StartDependency) string {
	name := b.Name
	if name == "" {
		name = "a job of another namespace"
	}
	if b.GPUs > 0 {
		name += fmt.Sprintf(" (%d GPUs)", b.GPUs)
	}
	switch b.What {
	case v1alpha1.DependsOnOrder:
		return name + " goes first"
	case v1alpha1.DependsOnQuota:
		return "quota of " + b.Name + " must become free"
	case v1alpha1.DependsOnRoom:
		return "nodes must become free that other pods hold, or be added"
	case v1alpha1.DependsOnEnd:
		if b.Unknown != "" {
			return name + " has no known end: " + meaningOfEnd(b.Unknown)
		}
		if by := bases[b.Basis]; by != "" {
			return name + " ends, " + by
		}
		return name + " ends"
	}
	return string(b.What) + " " + b.Name
}

func meaningOfEnd(u v1alpha1.EndUnknown) string {
	if means := ends[u].means; means != "" {
		return means
	}
	return string(u)
}

// nextForStart returns what makes the start known: mostly the end of another job.
func nextForStart(e *v1alpha1.EstimatedStart) string {
	if e.Unknown != v1alpha1.StartNoEndKnown {
		return starts[e.Unknown].next
	}
	for i := range e.Behind {
		switch b := &e.Behind[i]; {
		case b.What == v1alpha1.DependsOnEnd && b.Unknown != "" && b.Name != "":
			return fmt.Sprintf("for job %s: %s", b.Name, ends[b.Unknown].next)
		case b.What == v1alpha1.DependsOnOrder && b.Time == nil && b.Name != "":
			return fmt.Sprintf("see kubectl tj when %s, which goes first", b.Name)
		case b.What == v1alpha1.DependsOnRoom:
			return "ask the admin for nodes, or wait until other pods end"
		}
	}
	return "ask the owner of the other job for reports, expectedSeconds or activeDeadlineSeconds"
}

func endOf(e *v1alpha1.EstimatedEnd) *End {
	if e == nil {
		return nil
	}
	out := &End{
		Time: timeOf(e.Time), Earliest: timeOf(e.Earliest), By: bases[e.Basis], Unknown: e.Unknown,
		Observed: e.ObservedTime.UTC(),
	}
	if e.Unknown != "" {
		out.Meaning = meaningOfEnd(e.Unknown)
	}
	switch {
	case e.Basis == v1alpha1.ForecastSteps && e.StepMilliseconds > 0:
		out.By += fmt.Sprintf(" of %s each", time.Duration(e.StepMilliseconds)*time.Millisecond)
	case e.Basis == v1alpha1.ForecastSimilar:
		out.By = fmt.Sprintf("by the running times of %d similar jobs", e.SimilarJobs)
	}
	return out
}
