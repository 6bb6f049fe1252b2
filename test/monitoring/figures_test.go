//go:build cluster

package monitoring

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// figure is what a query should answer, by the labels of each sample ("a=1 b=2"; "" for none).
type figure struct {
	query string
	want  map[string]float64
	// within is how far each may be off, as a part of it. An increase is: Prometheus extrapolates it to the
	// moment of the query.
	within float64
	// nonzero: samples of 0 are not compared. Series of counters are there before there is anything to count.
	nonzero bool
}

// compare returns "", or how the samples differ.
func (f figure) compare(samples model.Vector) string {
	got := map[string]float64{}
	for _, s := range samples {
		if f.nonzero && s.Value == 0 {
			continue
		}
		got[labels(s.Metric)] = float64(s.Value)
	}
	var wrong []string
	for key, want := range f.want {
		have, is := got[key]
		if !is || !(math.Abs(have-want) <= f.within*math.Abs(want)+1e-9) { // NaN is wrong
			wrong = append(wrong, fmt.Sprintf("{%s}: want %v", key, want))
		}
	}
	for key := range got {
		if _, wanted := f.want[key]; !wanted {
			wrong = append(wrong, fmt.Sprintf("{%s} is not wanted", key))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	slices.Sort(wrong)
	return fmt.Sprintf("%s; got %v", strings.Join(wrong, "; "), samples)
}

func labels(m model.Metric) string {
	var all []string
	for name, value := range m {
		if name != model.MetricNameLabel {
			all = append(all, fmt.Sprintf("%s=%s", name, value))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// phases that a job may be in.
var phases = []string{
	"Pending", "Queued", "Starting", "Running", "Draining", "Restarting", "Suspended", "Succeeded", "Failed",
}

// one is a figure without labels.
func one(v float64) map[string]float64 { return map[string]float64{"": v} }

// of is a figure of each job that has one.
func (h *history) of(value func(*v1alpha1.TrainingJob) (float64, bool)) map[string]float64 {
	all := map[string]float64{}
	for name, job := range h.now() {
		if v, has := value(job); has {
			all["namespace="+namespace+" trainingjob="+name] = v
		}
	}
	return all
}

// statesFigures are those of the jobs that exist, at any time.
func (h *history) statesFigures() map[panelQuery]figure {
	states := h.count(func(job *v1alpha1.TrainingJob) string { return string(job.Status.Phase) })
	n := func(phases ...string) (sum float64) {
		for _, p := range phases {
			sum += states[p]
		}
		return sum
	}
	labelled := map[string]float64{}
	for _, p := range phases {
		labelled["state="+p] = states[p]
	}
	blocked := map[string]float64{}
	for reason, n := range h.count(func(job *v1alpha1.TrainingJob) string {
		if s := job.Status.Scheduling; s != nil && s.Blocker != nil && !job.Status.Phase.Finished() {
			return s.Blocker.Reason
		}
		return ""
	}) {
		blocked["reason="+reason] = n
	}
	return map[panelQuery]figure{
		{"jobs", "Jobs by state", "A"}:       {want: labelled},
		{"jobs", "Active jobs", "A"}:         {want: one(n("Starting", "Running", "Draining"))},
		{"jobs", "Active jobs", "B"}:         {want: one(n("Pending", "Queued", "Restarting"))},
		{"queues", "Why jobs wait", "A"}:     {want: blocked},
		{"operator", "Series left out", "A"}: {want: one(0)},
		{"operator", "Series left out", "B"}: {want: one(0)},
	}
}

// endFigures are those of jobs that have ended. lag is how much of an increase Prometheus may add.
func (h *history) endFigures(lag float64) map[panelQuery]figure {
	figures := h.statesFigures()
	var durations []float64
	ended := map[v1alpha1.Phase]float64{}
	var ran, lost float64
	for _, job := range h.now() {
		st := job.Status
		if st.Phase.Finished() {
			ended[st.Phase]++
			durations = append(durations, st.CompletionTime.Sub(st.StartTime.Time).Seconds())
		}
		ran += runningGPUSeconds(job)
		if st.Work != nil {
			lost += float64(st.Work.LostGPUSeconds)
		}
	}
	failures, preemptions, causes := map[string]float64{}, map[string]float64{}, map[string]float64{}
	h.changes(func(before, after *v1alpha1.TrainingJob) {
		was, is := before.Status, after.Status
		if was.Phase != v1alpha1.PhaseFailed && is.Phase == v1alpha1.PhaseFailed {
			failures["reason="+is.Transitions[len(is.Transitions)-1].Reason]++
		}
		if n := is.Preemptions - was.Preemptions; n > 0 {
			preemptions["queue=research reason="+was.Drain.Reason] += float64(n)
		}
		if was.Work != nil && is.Work != nil && is.Work.Interruptions > was.Work.Interruptions {
			causes["cause="+string(was.Drain.Cause)] += float64(is.Work.Interruptions - was.Work.Interruptions)
		}
	})
	failed, succeeded := ended[v1alpha1.PhaseFailed], ended[v1alpha1.PhaseSucceeded]
	for q, f := range map[panelQuery]figure{
		{"jobs", "Duration", "A"}:           {want: one(quantile(0.5, durations))},
		{"jobs", "Duration", "B"}:           {want: one(quantile(0.9, durations))},
		{"jobs", "Failure rate", "A"}:       {want: one(failed / (failed + succeeded))},
		{"jobs", "Failures by reason", "A"}: {want: failures, within: lag, nonzero: true},

		{"queues", "Preemptions", "A"}:                  {want: preemptions, within: lag, nonzero: true},
		{"queues", "Interruptions by cause", "A"}:       {want: causes, within: lag, nonzero: true},
		{"queues", "GPU-seconds, useful and lost", "A"}: {want: one(ran - lost), within: lag},
		{"queues", "GPU-seconds, useful and lost", "B"}: {want: one(lost), within: lag},
		{"queues", "Goodput", "A"}: {want: map[string]float64{
			"namespace=" + namespace + " queue=research": (ran - lost) / ran,
		}},
	} {
		figures[q] = f
	}
	return figures
}

// counterFigures are exact: what the operator has counted since its start, of jobs that have ended.
func (h *history) counterFigures() []figure {
	queue := "namespace=" + namespace + " queue=research"
	work := func(value func(v1alpha1.WorkStatus) int64) map[string]float64 {
		return map[string]float64{queue: h.sum(func(job *v1alpha1.TrainingJob) float64 {
			if job.Status.Work == nil {
				return 0
			}
			return float64(value(*job.Status.Work))
		})}
	}
	ran := h.sum(runningGPUSeconds)
	lost := work(func(w v1alpha1.WorkStatus) int64 { return w.LostGPUSeconds })
	waited, attempts := map[string]float64{}, map[string]float64{}
	for _, job := range h.now() {
		key := queue
		if class := job.Spec.RunPolicy.SchedulingPolicy.PriorityClass; class != "" {
			key = "namespace=" + namespace + " priority=" + class + " queue=research"
		}
		for _, wait := range waits(job) {
			waited[key] += wait.Seconds()
			attempts[key]++
		}
	}
	sum := func(metric string) string { return "sum by (namespace, queue) (" + metric + ")" }
	byPriority := func(metric string) string { return "sum by (namespace, queue, priority) (" + metric + ")" }
	return []figure{
		{query: "sum by (namespace) (trainingjob_created_total)",
			want: map[string]float64{"namespace=" + namespace: float64(len(h.now()))}},
		{query: sum("trainingjob_running_gpu_seconds_total"), want: map[string]float64{queue: ran}},
		{query: sum("trainingjob_useful_gpu_seconds_total"), want: map[string]float64{queue: ran - lost[queue]}},
		{query: sum("trainingjob_lost_gpu_seconds_total"), want: lost},
		{query: sum("trainingjob_lost_seconds_total"),
			want: work(func(w v1alpha1.WorkStatus) int64 { return w.LostSeconds })},
		{query: sum("trainingjob_lost_steps_total"),
			want: work(func(w v1alpha1.WorkStatus) int64 { return w.LostSteps })},
		{query: sum("trainingjob_resume_seconds_sum"),
			want: work(func(w v1alpha1.WorkStatus) int64 { return w.ResumeSeconds })},
		{query: sum("trainingjob_resume_seconds_count"),
			want: work(func(w v1alpha1.WorkStatus) int64 { return int64(w.Resumptions) })},
		{query: byPriority("trainingjob_queued_seconds_sum"), want: waited},
		{query: byPriority("trainingjob_queued_seconds_count"), want: attempts},
		{query: "sum by (state) (trainingjob_duration_seconds_sum)", want: h.durations()},
	}
}

// durations from when a job first ran until it finished, summed by its last phase.
func (h *history) durations() map[string]float64 {
	all := map[string]float64{}
	for _, job := range h.now() {
		if st := job.Status; st.Phase.Finished() {
			all["state="+string(st.Phase)] += st.CompletionTime.Sub(st.StartTime.Time).Seconds()
		}
	}
	return all
}

// quantile as Prometheus estimates it from the buckets of trainingjob_duration_seconds, which begin with a
// minute and double: as if the observations of a bucket were spread evenly over it.
func quantile(q float64, observed []float64) float64 {
	rank, below := q*float64(len(observed)), 0.0
	for lower, upper := 0.0, 60.0; ; lower, upper = upper, 2*upper {
		var in float64
		for _, o := range observed {
			if o > lower && o <= upper || o == 0 && lower == 0 {
				in++
			}
		}
		if below+in >= rank {
			return lower + (upper-lower)*(rank-below)/in
		}
		below += in
	}
}
