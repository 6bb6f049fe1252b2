package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Reports holds the newest report of every job. As a source it enqueues the jobs whose report has changed.
type Reports interface {
	source.Source
	// Latest returns the newest report of a job's rank 0; false: none has arrived since this process leads.
	Latest(job types.UID) (observation.Reported, bool)
	// Reported returns when a job's rank 0 last reported, also without news, and from which attempt; false:
	// it has not since this process leads.
	Reported(job types.UID) (attempt int32, at time.Time, known bool)
	// Forget drops a deleted job.
	Forget(job types.UID)
}

// Beats holds the last beat of every rank. Beats cause no reconcile.
type Beats interface {
	// Of returns the beats of a job's ranks since this process leads, by the UID of the pod.
	Of(job types.UID) map[types.UID]observation.ReceivedBeat
	// Interval that the report server asks for between two beats of a rank.
	Interval() time.Duration
}
