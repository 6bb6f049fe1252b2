package controller

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

// maxNote is the longest note that events.k8s.io/v1 takes, in bytes; a longer one loses the event.
const maxNote = 1024

// record tells what has happened. Call it once the status that says so is persisted.
func (r *Reconciler) record(job *v1alpha1.TrainingJob, events []trainingjob.Event) {
	for _, e := range events {
		if e.Once != "" && r.ledger.toldBefore(job.UID, job.Status.Attempt, e.Once) {
			continue
		}
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		action := e.Action
		if action == "" {
			action = e.Reason // the API demands one
		}
		r.recorder.Eventf(job, nil, kind, e.Reason, action, "%s", cut(e.Message, maxNote))
	}
}

// cut shortens s to at most n bytes, at the border of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n -= len("..."); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n] + "..."
}
