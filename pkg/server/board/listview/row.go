package listview

import (
	"net/url"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// containerRows is the container of the rows.
const containerRows = "jobs"

// row is the data of one job.
type row struct {
	ID, Href, Namespace, Name string
	Phase                     v1alpha1.Phase
	Deleting                  bool
	// Gang is the number of running ranks of all; empty if unknown.
	Gang string
	// GPUs that the gang requests; nil before the operator has set a status.
	GPUs                  *int64
	Queue, Priority, User string
	Progress              *v1alpha1.ProgressStatus
	// End of the training, estimated; nil if unknown.
	End              *time.Time
	Reason, NextStep string
	Created          time.Time
}

// Class of the phase in the style sheet.
func (r row) Class() string { return "phase-" + strings.ToLower(string(r.Phase)) }

// Row renders one job of a cluster. userKeys are the annotations and labels that name its user.
func Row(cluster string, job *v1alpha1.TrainingJob, userKeys []string) (fragment.Fragment, error) {
	r := rowOf(cluster, job, userKeys)
	return fragment.Render(templates, "row", containerRows, r.ID, r)
}

func rowOf(cluster string, job *v1alpha1.TrainingJob, userKeys []string) row {
	explained := explain.Of(job, time.Time{}) // without the parts that depend on the time
	r := row{
		ID: "job-" + string(job.UID), Href: JobURL(cluster, job.Namespace, job.Name),
		Namespace: job.Namespace, Name: job.Name, Phase: phaseOf(job), Deleting: job.DeletionTimestamp != nil,
		Gang: job.Status.Gang, Queue: history.QueueOf(job), Priority: spec.PriorityClass(job),
		User: history.UserOf(job, userKeys), Progress: job.Status.Progress, Reason: explained.Summary,
		NextStep: explained.NextStep, Created: job.CreationTimestamp.UTC(),
	}
	if r.Phase != Unseen && job.Status.GPUsUnknown == "" {
		r.GPUs = &job.Status.GPUs
	}
	r.End = explain.EndOf(job)
	return r
}

// ClusterURL is the path of a cluster's pages.
func ClusterURL(cluster string) string { return "/board/clusters/" + url.PathEscape(cluster) }

// JobURL is the path of a job's page.
func JobURL(cluster, namespace, name string) string {
	return ClusterURL(cluster) + "/namespaces/" + url.PathEscape(namespace) + "/jobs/" + url.PathEscape(name)
}

func phaseOf(job *v1alpha1.TrainingJob) v1alpha1.Phase {
	if job.Status.Phase == "" {
		return Unseen
	}
	return job.Status.Phase
}
