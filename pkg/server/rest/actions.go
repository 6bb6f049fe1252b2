package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// ActionInput names a job and the action.
type ActionInput struct {
	JobPath
	DryRun
	IfMatch
}

// Action on a job other than a change of its fields.
type Action string

// Actions.
const (
	Suspend Action = "suspend"
	Resume  Action = "resume"
	Restart Action = "restart"
)

func (s *Server) routeActions() {
	for _, a := range []struct {
		name                 Action
		summary, description string
	}{
		{Suspend, "Suspend a TrainingJob",
			"Sets spec.runPolicy.suspend: the job saves a checkpoint if it can, and releases its " +
				"resources. It " +
				"loses its place in the queue. A suspended job does not change."},
		{Resume, "Resume a TrainingJob",
			"Unsets spec.runPolicy.suspend: the job is queued again, and resumes from its last complete " +
				"checkpoint. A job that is not suspended does not change."},
		{Restart, "Restart a TrainingJob",
			"Sets the annotation " + v1alpha1.AnnotationRestart + " to a new value: the job saves a " +
				"checkpoint if " +
				"it can, and starts a new attempt from it. It does not count toward backoffLimit."},
	} {
		register(s, huma.Operation{
			OperationID: string(a.name) + "TrainingJob", Method: http.MethodPost, Path: named + "/" + string(a.name),
			Tags:    tagJobs,
			Summary: a.summary, Description: a.description,
		}, func(ctx context.Context, in *ActionInput) (*JobOutput, error) { return s.act(ctx, a.name, in) })
	}
}
func (s *Server) act(ctx context.Context, action Action, in *ActionInput) (*JobOutput, error) {
	only, err := in.parse()
	if err != nil {
		return nil, err
	}
	job, err := s.job(ctx, in.JobPath)
	if err != nil {
		return nil, err
	}
	if err := futile(action, job); err != nil {
		return nil, err
	}
	change := map[string]any{}
	switch action {
	case Suspend, Resume:
		change["spec"] = map[string]any{"runPolicy": map[string]any{"suspend": action == Suspend}}
	case Restart:
		value := s.Clock.Now().UTC().Format(time.RFC3339Nano)
		change["metadata"] = map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRestart: value}}
	default:
		return nil, problem.Newf(problem.NotFound, "unknown action %s", action)
	}
	body, _ := json.Marshal(change) // of strings and booleans
	if body, err = mergePatch(body, in.JobPath, only); err != nil {
		return nil, err
	}
	return s.send(ctx, in.JobPath, client.RawPatch(types.MergePatchType, body), only, in.DryRun)
}

// futile returns an error if the operator would do nothing, so that the client does not wait for it.
func futile(action Action, job *v1alpha1.TrainingJob) error {
	switch {
	case job.DeletionTimestamp != nil:
		return problem.New(problem.Conflict, "the job is being deleted", "create a new one")
	case job.Status.Phase.Finished():
		return problem.Newf(problem.Conflict, "the job has finished: it is %s", job.Status.Phase).
			WithRemedy("create a new one, which can begin with a checkpoint of this one")
	case action == Restart && spec.Suspended(job):
		return problem.New(problem.Conflict, "the job is suspended, so nothing can restart",
			"resume it to start a new attempt")
	}
	return nil
}
