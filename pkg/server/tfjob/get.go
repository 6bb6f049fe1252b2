package tfjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// get returns a job of the cluster, or of the history if the cluster no longer has it.
func (h *Handler) get(k *call) (any, error) {
	job, err := h.find(k)
	switch {
	case err != nil:
		return nil, err
	case job != nil:
		return h.describer.Describe(job), nil
	}
	return h.remembered(k)
}

// find returns the job in the path; nil if the API server reports to the caller that it does not exist. A job
// of the same name is another one.
func (h *Handler) find(k *call) (*v1alpha1.TrainingJob, error) {
	name, uid := tfjobadmin.ParseID(k.PathValue("id"))
	job := &v1alpha1.TrainingJob{}
	err := k.client.Get(k.Context(), client.ObjectKey{Namespace: k.partition, Name: name}, job)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, h.refused(k, err, noField)
	case uid != "" && job.UID != uid:
		return nil, nil
	}
	return job, nil
}

// missing returns the Problem of a job that does not exist.
func (k *call) missing() *problem.Problem {
	return problem.New(problem.NotFound,
		fmt.Sprintf("partition %s has no job %q", k.partition, k.PathValue("id")),
		"list the partition's jobs, and use the metadata.id of one").About("path.id")
}

// remembered returns a job of the history. The API server has allowed the caller to get it.
func (h *Handler) remembered(k *call) (any, error) {
	name, uid := tfjobadmin.ParseID(k.PathValue("id"))
	var record history.Record
	var err error
	if uid != "" {
		record, err = h.History.Job(k.Context(), history.Key{Cluster: k.cluster, UID: uid})
	} else {
		record, err = h.History.JobNamed(k.Context(), k.cluster, k.partition, name)
	}
	switch {
	case errors.Is(err, h.NotFound):
		return nil, k.missing()
	case err != nil:
		return nil, problem.New(problem.Unavailable,
			"the history cannot be read",
			"send the request again").CausedBy(err)
	}
	namespace, exists := h.Namespace(k.cluster, k.partition)
	if !exists || !namespace.Holds(&record.Job) || record.Job.Name != name {
		return nil, k.missing()
	}
	return h.describeRecord(record)
}

// describeRecord returns the document of a deleted job.
func (h *Handler) describeRecord(record history.Record) (any, error) {
	known := record.Job
	var manifest struct {
		Labels, Annotations map[string]string
		Spec                v1alpha1.TrainingJobSpec
	}
	if len(known.Manifest) > 0 {
		if err := json.Unmarshal(known.Manifest, &manifest); err != nil {
			return nil, problem.New(problem.Internal,
				"what the history has of the job cannot be read",
				"report this to an admin").CausedBy(err)
		}
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Name: known.Name, Namespace: known.Namespace, UID: types.UID(known.UID), Labels: manifest.Labels,
		Annotations: manifest.Annotations, CreationTimestamp: metav1.Time{Time: known.Created},
	}, Spec: manifest.Spec}
	job.Status.Phase = known.Phase
	doc := h.describer.Describe(job)
	doc.Metadata.LastUpdateTime = lastUpdate(record)
	doc.Metadata.DeletionTime, doc.Metadata.DeletedBefore = utc(known.Deleted), utc(known.DeletedBefore)
	if !known.Phase.Finished() {
		doc.Status.Phase = tfjobadmin.PhaseDeleted
	}
	return doc, nil
}

// lastUpdate is the latest time in the record of a job.
func lastUpdate(record history.Record) time.Time {
	latest := record.Job.Created
	for _, t := range []*time.Time{record.Job.Started, record.Job.Completed, record.Job.Deleted} {
		if t != nil && t.After(latest) {
			latest = *t
		}
	}
	for _, transition := range record.Transitions {
		if transition.Time.After(latest) {
			latest = transition.Time
		}
	}
	return latest.UTC()
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}
