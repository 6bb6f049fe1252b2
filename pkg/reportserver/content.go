package reportserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// readReport reads at most checkpoint.MaxReportBytes of a body.
func readReport(w http.ResponseWriter, req *http.Request) (*checkpoint.Report, *rejection) {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, checkpoint.MaxReportBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, reject(http.StatusRequestEntityTooLarge, resultOversized,
			"report has more than %d bytes: write less into it", checkpoint.MaxReportBytes)
	case err != nil:
		return nil, reject(http.StatusBadRequest, resultDisconnected,
			"report ends too early: send it whole, within %s", readTimeout)
	}
	report, err := checkpoint.ParseReport(data)
	if err != nil {
		return nil, reject(http.StatusBadRequest, resultMalformed, "%v", err)
	}
	return report, nil
}

// checkReport checks a report against the pod that sent it and against the pod's job.
func checkReport(from reportingPod, r *checkpoint.Report) *rejection {
	running := from.job.Status.Attempt
	switch {
	case r.Attempt != from.attempt:
		return reject(http.StatusConflict, resultAttempt,
			"report: attempt is %d, but this pod is of attempt %d: leave $%s as it is",
			r.Attempt, from.attempt, checkpoint.EnvAttempt)
	case r.Attempt > running: // the pod's watch is ahead of the job's
		return reject(http.StatusServiceUnavailable, resultAttempt,
			"report: attempt %d is not seen here yet: report again", r.Attempt).after(retryStatus)
	case from.attemptOver() && !hasCommit(r):
		return reject(http.StatusConflict, resultAttempt,
			"report: attempt %d is over, attempt %d is the job's now: only a commit is still taken", r.Attempt,
			running)
	case from.resolver && r.Phase != checkpoint.PhaseResolved:
		return reject(http.StatusForbidden, resultSender,
			"report: phase is %s, but this pod trains nothing: say %s", r.Phase, checkpoint.PhaseResolved)
	case !from.resolver && r.Phase == checkpoint.PhaseResolved:
		return reject(http.StatusForbidden, resultSender,
			"report: phase %s is the resolver's word: rank 0 says what it trains", r.Phase)
	}
	return checkURIs(from.job, r)
}

// checkURIs rejects checkpoints outside the job's directory. A checkpoint that was passed over may be
// given by its path: it is only shown to people.
func checkURIs(job *v1alpha1.TrainingJob, r *checkpoint.Report) *rejection {
	base, hasBase := checkpointBase(job)
	if save := r.Checkpoint; save != nil {
		switch {
		case hasCommit(r) && !hasBase:
			return unprocessable("checkpoint", "is committed, but the job has no checkpoints",
				"turn spec.checkpoint on")
		case hasCommit(r) && save.URI == "":
			return unprocessable("checkpoint.uri", "is missing", "say where the committed checkpoint lies")
		case save.URI != "":
			if rejected := checkURI("checkpoint.uri", save.URI, base, hasBase); rejected != nil {
				return rejected
			}
		}
	}
	for i, p := range r.PassedOver {
		if !strings.Contains(p.URI, "://") {
			continue
		}
		if rejected := checkURI(fmt.Sprintf("passedOver[%d].uri", i), p.URI, base, hasBase); rejected != nil {
			return rejected
		}
	}
	return nil
}

// checkpointBase is the URI below which all attempts of the job write. It is false for a job without
// checkpoints.
func checkpointBase(job *v1alpha1.TrainingJob) (checkpoint.URI, bool) {
	if spec.Checkpoints(job) == nil {
		return checkpoint.URI{}, false
	}
	base, err := spec.CheckpointURI(job)
	return base, err == nil
}

func checkURI(field, text string, base checkpoint.URI, hasBase bool) *rejection {
	u, err := checkpoint.ParseURI(text)
	if err != nil {
		return reject(http.StatusUnprocessableEntity, resultURI, "report: %s: %v", field, err)
	}
	if !hasBase {
		return unprocessable(field, "is given, but the job has no checkpoints", "turn spec.checkpoint on")
	}
	if rel, ok := u.Rel(base); !ok || rel == "." { // base itself holds the attempts' directories, no checkpoint
		return unprocessable(field, "does not lie below "+base.String(),
			"write checkpoints below $"+checkpoint.EnvDir)
	}
	return nil
}

func unprocessable(field, problem, remedy string) *rejection {
	err := &checkpoint.FormatError{Message: "report", Field: field, Problem: problem, Remedy: remedy}
	return reject(http.StatusUnprocessableEntity, resultURI, "%v", err)
}
