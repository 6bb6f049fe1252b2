package account

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

func TestReportedProgress(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 500, time.UTC)
	received := metav1.NewTime(at.Truncate(time.Second))
	in := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(received.Add(d))) }
	first := new(int64(1))
	cases := map[string]struct {
		reason string
		report checkpoint.Report
		want   *v1alpha1.ProgressStatus
	}{
		"nothing yet": {
			"no status was written: step 0 is no progress",
			checkpoint.Report{Attempt: 1}, nil,
		},
		"a step": {
			"a total is not needed",
			checkpoint.Report{Attempt: 2, FirstStep: first, Step: 7},
			&v1alpha1.ProgressStatus{Attempt: 2, Step: 7, Source: "StatusFile", ReportedTime: received},
		},
		"everything": {
			"what is left takes as long as the last steps did",
			checkpoint.Report{
				Attempt: 1, FirstStep: first, Step: 250, TotalSteps: 1000, StepSeconds: 0.5, Epoch: 2.48,
				TotalEpochs: 10, Metrics: map[string]checkpoint.Metric{"loss": "NaN"},
			},
			&v1alpha1.ProgressStatus{
				Attempt: 1, Step: 250, TotalSteps: 1000, Percent: new(int32(25)), Epoch: "2.48",
				TotalEpochs: "10", Metrics: map[string]string{"loss": "NaN"},
				EstimatedCompletionTime: in(375 * time.Second), Source: "StatusFile", ReportedTime: received,
			},
		},
		"the Kubeflow protocol": {
			"the source is not the status file",
			checkpoint.Report{Attempt: 1, FirstStep: first, Step: 7, Source: checkpoint.SourceKubeflow},
			&v1alpha1.ProgressStatus{Attempt: 1, Step: 7, Source: "Kubeflow", ReportedTime: received},
		},
		"the Kubeflow protocol before the first step": {
			"no step was trained: step 0 is no progress",
			checkpoint.Report{
				Attempt: 1, Source: checkpoint.SourceKubeflow, TotalSteps: 1000,
				Metrics: map[string]checkpoint.Metric{"loss": "1"},
			}, nil,
		},
		"almost": {
			"99.9 percent are not 100",
			checkpoint.Report{Attempt: 1, FirstStep: first, Step: 999, TotalSteps: 1000},
			&v1alpha1.ProgressStatus{
				Attempt: 1, Step: 999, TotalSteps: 1000, Percent: new(int32(99)), Source: "StatusFile",
				ReportedTime: received,
			},
		},
		"beyond": {
			"a total that was too low",
			checkpoint.Report{Attempt: 1, FirstStep: first, Step: 1200, TotalSteps: 1000, StepSeconds: 1},
			&v1alpha1.ProgressStatus{
				Attempt: 1, Step: 1200, TotalSteps: 1000, Percent: new(int32(100)), Source: "StatusFile",
				ReportedTime: received,
			},
		},
		"never": {
			"an estimate of more seconds than an int32 holds is none",
			checkpoint.Report{Attempt: 1, FirstStep: first, Step: 1, TotalSteps: 1 << 50, StepSeconds: 1e6},
			&v1alpha1.ProgressStatus{
				Attempt: 1, Step: 1, TotalSteps: 1 << 50, Percent: new(int32(0)), Source: "StatusFile",
				ReportedTime: received,
			},
		},
	}
	for name, c := range cases {
		got := reportedProgress(&observation.Reported{Report: c.report, Received: at})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

// TestRecordStart: a start is measured once, from Running to the first step that the attempt trained.
// An upgraded operator reads the reports of running trainers again. It does not write a status for the source
// alone, which the former one did not know.
func TestSourceAloneIsNoProgress(t *testing.T) {
	recorded := v1alpha1.ProgressStatus{Attempt: 1, Step: 150}
	reported := recorded
	reported.Source = v1alpha1.ProgressFromStatusFile
	if !sameProgress(&recorded, &reported) {
		t.Error("a source where none was recorded is progress")
	}
	recorded.Source = v1alpha1.ProgressFromKubeflow
	if sameProgress(&recorded, &reported) {
		t.Error("another source than the recorded one is none")
	}
}

func TestRecordStart(t *testing.T) {
	began := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	after := func(seconds int, step int64, perStep float64) *observation.Reported {
		return &observation.Reported{
			Report:   checkpoint.Report{Attempt: 2, FirstStep: new(int64(200)), Step: step, StepSeconds: perStep},
			Received: began.Add(time.Duration(seconds) * time.Second),
		}
	}
	const before = 7
	trained := after(60, 220, 0.5)
	for name, c := range map[string]struct {
		reason string
		report *observation.Reported
		old    *v1alpha1.ProgressStatus
		off    bool
		phase  v1alpha1.Phase
		want   int64
	}{
		"trains":          {reason: "60 s, of which 20 steps took 10", report: trained, want: 50},
		"rounded":         {reason: "up", report: after(60, 201, 0.5), want: 60},
		"nothing new":     {reason: "it has trained nothing", report: after(60, 200, 0.5), want: before},
		"measured before": {reason: "it was measured then", report: trained, old: of(2, 210), want: before},
		"resumed before":  {reason: "of no new step", report: trained, old: of(2, 200), want: 50},
		"attempt before":  {reason: "its steps are others", report: trained, old: of(1, 250), want: 50},
		"claims too much": {reason: "it began after the gang ran", report: after(60, 220, 1e6), want: 0},
		"no planner":      {reason: "the status stays as it was", report: trained, off: true, want: before},
		"is being ended":  {reason: "the phase began later", report: trained, phase: "Draining", want: before},
		"no report":       {reason: "there is no report", want: before},
	} {
		job := &v1alpha1.TrainingJob{}
		job.Status.Phase = v1alpha1.PhaseRunning
		if c.phase != "" {
			job.Status.Phase = c.phase
		}
		job.Status.Transitions = []v1alpha1.Transition{{Phase: job.Status.Phase, Time: metav1.NewTime(began)}}
		o := &observation.Observation{Snapshot: observation.Snapshot{Job: job, Plans: !c.off}}
		o.Checkpoints.Report = c.report
		p := &decision.Plan{}
		p.Status.Work = &v1alpha1.WorkStatus{StartSeconds: before}
		recordStart(o, p, c.old)
		if got := p.Status.Work.StartSeconds; got != c.want {
			t.Errorf("%s: %d s, want %d: %s", name, got, c.want, c.reason)
		}
	}
}

// of is the progress of an attempt.
func of(attempt int32, step int64) *v1alpha1.ProgressStatus {
	return &v1alpha1.ProgressStatus{Attempt: attempt, Step: step}
}

// TestFinalProgress: the termination message makes up for a last report that was lost.
func TestFinalProgress(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	reported := func(attempt int32, step int64) *v1alpha1.ProgressStatus {
		return &v1alpha1.ProgressStatus{
			Attempt: attempt, Step: step, TotalSteps: 1000, Percent: percentOf(step, 1000),
			Metrics: map[string]string{"loss": "1"}, Source: v1alpha1.ProgressFromKubeflow,
		}
	}
	complete := &v1alpha1.ProgressStatus{
		Attempt: 2, Step: 1000, TotalSteps: 1000, Percent: new(int32(100)),
		Source: v1alpha1.ProgressFromKubeflow, ReportedTime: now,
	}
	cases := map[string]struct {
		reason string
		report *v1alpha1.ProgressStatus // by the attempt's last report
		status *v1alpha1.ProgressStatus // before
		resume int64
		step   *int64 // in the termination message
		want   *v1alpha1.ProgressStatus
	}{
		"no message": {
			"there is nothing to add",
			reported(2, 300), reported(2, 250), 0, nil, reported(2, 300),
		},
		"the same step": {
			"the report says more",
			reported(2, 300), nil, 0, new(int64(300)), reported(2, 300),
		},
		"the last report lost": {
			"the message is newer",
			reported(2, 300), nil, 0, new(int64(1000)), complete,
		},
		"no report since the operator started": {
			"the status knows the total",
			nil, reported(2, 300), 150, new(int64(1000)), complete,
		},
		"never a report": {
			"the status is of the attempt before",
			nil, reported(1, 150), 150, new(int64(160)),
			&v1alpha1.ProgressStatus{Attempt: 2, Step: 160, ReportedTime: now},
		},
		"nothing was trained": {
			"it ended where it began",
			nil, reported(1, 150), 150, new(int64(150)), nil,
		},
	}
	for name, c := range cases {
		job := &v1alpha1.TrainingJob{Status: v1alpha1.TrainingJobStatus{Attempt: 2, Progress: c.status}}
		if c.resume > 0 {
			job.Status.Checkpoint = &v1alpha1.CheckpointStatus{
				ResumeFrom: &v1alpha1.CheckpointPoint{Step: c.resume},
			}
		}
		o := &observation.Observation{
			Snapshot:    observation.Snapshot{Job: job, Now: now.Time},
			Checkpoints: observation.Checkpoints{Step: c.step},
		}
		if diff := cmp.Diff(c.want, finalProgress(o, &job.Status, c.report)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}
