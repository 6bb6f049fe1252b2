package rest

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// ExplainOutput is why a job has its state.
type ExplainOutput struct{ Body explain.Explanation }

// TimelineOutput is the timeline of a job.
type TimelineOutput struct{ Body timeline.Timeline }

func (s *Server) routeExplain() {
	register(s, huma.Operation{
		OperationID: "explainTrainingJob", Method: http.MethodGet, Path: named + "/explain", Tags: tagJobs,
		Summary: "Explain the state of a TrainingJob",
		Description: "The reason why the job waits, with its arithmetic (what the gang needs, what is " +
			"free, " +
			"what is missing), and the next step; the checks of a rehearsal, and the newest rehearsal of a job.",
	}, s.explain)
	register(s, huma.Operation{
		OperationID: "getTrainingJobTimeline", Method: http.MethodGet, Path: named + "/timeline", Tags: tagJobs,
		Summary: "Get the timeline of a TrainingJob",
		Description: "Phases with durations, preemptions with costs, checkpoints and failures, and what " +
			"is no longer known.",
	}, s.timeline)
	register(s, huma.Operation{
		OperationID: "getHistoryTimeline", Method: http.MethodGet, Path: inCluster + "/history/jobs/{uid}/timeline",
		Tags: tagHistory, Summary: "Get the timeline of a past job",
	}, s.historyTimeline)
}
func (s *Server) explain(ctx context.Context, in *JobPath) (*ExplainOutput, error) {
	job, err := s.job(ctx, *in)
	if err != nil {
		return nil, err
	}
	return &ExplainOutput{s.explanation(ctx, in, job)}, nil
}

// explanation of a job, with its newest rehearsal if the caller may list the jobs of the namespace.
func (s *Server) explanation(
	ctx context.Context, in *JobPath, job *v1alpha1.TrainingJob,
) explain.Explanation {
	e := explain.Of(job, s.Clock.Now().UTC())
	if job.Spec.Rehearsal != nil || job.Spec.Checkpoint == nil {
		return e // it is one, or cannot be rehearsed
	}
	may, err := s.visible(ctx, in.Cluster, []string{in.Namespace})
	if err == nil && may(in.Namespace) {
		var v live.View
		if v, err = s.view(in.Cluster); err == nil {
			e.AddRehearsals(job, v.Jobs)
			return e
		}
	}
	e.Unknown = append(e.Unknown, explain.UnknownRehearsals)
	return e
}

func (s *Server) timeline(ctx context.Context, in *JobPath) (*TimelineOutput, error) {
	r, err := s.jobRecord(ctx, in)
	if err != nil {
		return nil, err
	}
	return &TimelineOutput{r.Timeline}, nil
}

// withStatus adds the entries of the status that the history does not record.
func withStatus(r history.Record, job *v1alpha1.TrainingJob) []timeline.Entry {
	all := timeline.OfRecord(r)
	for _, e := range timeline.Of(job) {
		if !e.Kind.InStatusOnly() {
			continue
		}
		later := func(o timeline.Entry) bool {
			return e.Time != nil && o.Time != nil &&
				o.Time.After(*e.Time)
		}
		at := slices.IndexFunc(all, later)
		if at < 0 {
			at = len(all)
		}
		all = slices.Insert(all, at, e)
	}
	return all
}
func (s *Server) historyTimeline(ctx context.Context, in *HistoryPath) (*TimelineOutput, error) {
	r, err := s.record(ctx, *in)
	if err != nil {
		return nil, err
	}
	return &TimelineOutput{timeline.Timeline{Source: timeline.FromHistory, Items: timeline.OfRecord(r)}}, nil
}
