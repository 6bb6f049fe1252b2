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
