package kueue

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// noQueueVerdict returns the verdict on a gang that names no queue, and false for one that does. Kueue's
// manageJobsWithoutQueueName holds such jobs until they name one (pkg/controller/jobframework/defaults.go,
// ApplyDefaultForSuspend); in its own words "LocalQueue  doesn't exist".
func noQueueVerdict(g scheduler.Gang) (scheduler.Verdict, bool) {
	if g.Queue != "" {
		return scheduler.Verdict{}, false
	}
	return scheduler.Verdict{
		Judged: true, Reason: scheduler.ReasonQueueNotFound,
		Message: "the job names no queue, and Kueue holds all jobs until they do",
		NextStep: fmt.Sprintf("set the job's label %s to a queue that `kubectl get "+
			"localqueues.kueue.x-k8s.io -n %s` lists", QueueLabel, g.Namespace),
	}, true
}
