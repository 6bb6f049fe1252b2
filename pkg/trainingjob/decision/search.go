package decision

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// A search of the volume takes at most searchTries tries and searchTime in total. After that the operator
// uses the last reported checkpoint.
//
// Kubernetes detaches a ReadWriteOnce volume from a dead node 6 minutes after its last pod there is deleted
// (ReconcilerMaxWaitForUnmountDuration in k8s.io/kubernetes/pkg/controller/volume/attachdetach, 1.37). Only
// then can the search's pod start.
const (
	searchTries = 3
	searchTime  = 10 * time.Minute
)

// Search returns the current search of the volume; nil if there is none.
func Search(job *v1alpha1.TrainingJob) *v1alpha1.ResolveStatus {
	if d := job.Status.Drain; d != nil && job.Status.Phase == v1alpha1.PhaseDraining {
		return d.Resolve
	}
	return nil
}

// resumePointKnown reports whether the next attempt's resume point can be settled, once no rank is left. It
// can if the volume was searched or the search took too long. It also can if the user requests no checkpoint,
// and rank 0's termination message suffices or rank 0 never ran.
func resumePointKnown(o *observation.Observation) bool {
	c := spec.Checkpoints(o.Job)
	if c == nil || !spec.OnVolume(c) || o.Checkpoints.Resolved != nil || o.Agent.Image == "" {
		return true
	}
	if spec.OpenRequest(o.Job) == "" && (!hasRun(o) || terminationSuffices(o)) {
		return true
	}
	s := Search(o.Job)
	return s != nil && (!o.Now.Before(s.Deadline.Time) || o.Checkpoints.SearchFailed && s.Try >= searchTries)
}

// beginSearch and searchAgain are transitions, so that the status holds a search's deadline before its pod
// exists.
func beginSearch(o *observation.Observation, p *Plan) Outcome {
	deadline := metav1.NewTime(o.Time().Add(searchTime))
	request, older := spec.OpenRequest(o.Job), olderThan(o)
	p.Status.Drain.Resolve = &v1alpha1.ResolveStatus{
		Try: 1, Deadline: deadline, Only: request, OlderThan: older,
	}
	why, what := "rank 0 ended without a termination message", "the latest complete checkpoint"
	switch {
	case request != "":
		why, what = "spec.checkpoint.resumeFrom is "+request, "it"
	case older != nil:
		why = fmt.Sprintf("%d attempts in a row failed before they trained a step on the checkpoint of step %d",
			failedStarts(o), *older)
		what = "an older one"
	case terminationRead(o) && suspect(o):
		why = fmt.Sprintf("attempt %d failed before it trained a step, on a checkpoint that may be damaged",
			o.Job.Status.Attempt)
	case terminationRead(o):
		why = "an earlier attempt ended without a termination message"
	}
	message := why + ": the volume is searched for " + what
	p.Normal(v1alpha1.ReasonResolving, "Resolve", message)
	return Outcome{Reason: v1alpha1.ReasonResolving, Message: message}
}

func searchAgain(_ *observation.Observation, p *Plan) Outcome {
	p.Status.Drain.Resolve.Try++
	return Outcome{
		Reason: v1alpha1.ReasonResolving,
		Message: fmt.Sprintf("searching the volume has failed: try %d of %d",
			p.Status.Drain.Resolve.Try, searchTries),
	}
}

// actSearch creates the pod that searches the volume while one is needed, and deletes those that are not.
func actSearch(o *observation.Observation, p *Plan) {
	s := Search(o.Job)
	attempt := strconv.Itoa(int(o.Job.Status.Attempt))
	for _, pod := range o.Resolvers {
		current := s != nil && pod.Labels[v1alpha1.LabelAttempt] == attempt &&
			pod.Labels[v1alpha1.LabelTry] == strconv.Itoa(int(s.Try))
		if !current {
			p.deletePod(pod, "its search is over")
		}
	}
	if s == nil || len(o.Live) > 0 || resumePointKnown(o) {
		return
	}
	p.WakeAt(s.Deadline.Time)
	if b := o.CreateBackoff; b != nil && o.Now.Before(b.RetryTime) {
		p.WakeAt(b.RetryTime)
		return
	}
	if len(o.Resolvers) == 0 {
		p.Resolve = true
		p.Note("search the volume for the checkpoint to resume from (try %d)", s.Try)
	}
}
