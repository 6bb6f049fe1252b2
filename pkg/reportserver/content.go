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
			"report has more than %d bytes: send fewer metrics", checkpoint.MaxReportBytes)
	case err != nil:
		return nil, reject(http.StatusBadRequest, resultDisconnected,
			"report is incomplete: send it completely within %s", readTimeout)
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
			"report: attempt is %d, but this pod belongs to attempt %d: do not change $%s",
			r.Attempt, from.attempt, checkpoint.EnvAttempt)
	case r.Attempt > running: // the pod's watch is ahead of the job's
		return reject(http.StatusServiceUnavailable, resultAttempt,
			"report: attempt %d is not known here yet: report again", r.Attempt).after(retryStatus)
	case from.attemptOver() && !hasCommit(r):
		return reject(http.StatusConflict, resultAttempt,
			"report: attempt %d has ended, the job is in attempt %d: only a commit is accepted", r.Attempt,
			running)
	case from.resolver && r.Phase != checkpoint.PhaseResolved:
		return reject(http.StatusForbidden, resultSender,
			"report: phase is %s, but this pod does not train: use %s", r.Phase, checkpoint.PhaseResolved)
	case !from.resolver && r.Phase == checkpoint.PhaseResolved:
		return reject(http.StatusForbidden, resultSender,
			"report: phase %s is only for the resolver: rank 0 reports its training", r.Phase)
	}
	if rejected := checkEvidence(from.job, r); rejected != nil {
		return rejected
	}
	return checkURIs(from.job, r)
}

// checkEvidence rejects evidence about a job that is no rehearsal, and about later attempts.
func checkEvidence(job *v1alpha1.TrainingJob, r *checkpoint.Report) *rejection {
	if len(r.Rehearsal) > 0 && !spec.IsRehearsal(job) {
		return reject(http.StatusUnprocessableEntity, resultMalformed,
			"report: rehearsal is set, but the job has no spec.rehearsal: run the agent without --rehearsal")
	}
	for i := range r.Rehearsal {
		if n := r.Rehearsal[i].Attempt; n > r.Attempt {
			return reject(http.StatusUnprocessableEntity, resultMalformed,
				"report: rehearsal[%d].attempt is %d, but this pod belongs to attempt %d: report earlier attempts",
				i, n, r.Attempt)
		}
	}
	return nil
}

// checkURIs rejects checkpoints outside the job's directory. A skipped checkpoint can be a path: it is only
// displayed.
func checkURIs(job *v1alpha1.TrainingJob, r *checkpoint.Report) *rejection {
	base, hasBase := checkpointBase(job)
	if save := r.Checkpoint; save != nil {
		switch {
		case hasCommit(r) && !hasBase:
			return unprocessable("checkpoint", "is committed, but the job has no checkpoints",
				"set spec.checkpoint")
		case hasCommit(r) && save.URI == "":
			return unprocessable("checkpoint.uri", "is missing", "set the URI of the committed checkpoint")
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

// checkpointBase returns the URI below which all attempts of the job write, and false for a job without
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
		return unprocessable(field, "is set, but the job has no checkpoints", "set spec.checkpoint")
	}
	if rel, ok := u.Rel(base); !ok || rel == "." { // base has the attempts' directories, not a checkpoint
		return unprocessable(field, "is not below "+base.String(),
			"write checkpoints below $"+checkpoint.EnvDir)
	}
	return nil
}

func unprocessable(field, problem, remedy string) *rejection {
	err := &checkpoint.FormatError{Message: "report", Field: field, Problem: problem, Remedy: remedy}
	return reject(http.StatusUnprocessableEntity, resultURI, "%v", err)
}
