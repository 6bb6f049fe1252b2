package convert

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Annotations of a Job that Kueue reads (pkg/controller/jobs/job/job_controller.go, Kueue v0.19.2).
const (
	kueueMinParallelism  = "kueue.x-k8s.io/job-min-parallelism"
	kueueEqualCompletion = "kueue.x-k8s.io/job-completions-equal-parallelism"
)

// batchJob converts batch/v1 Job as a JobSet of one. Defaults: pkg/apis/batch/v1/defaults.go (Kubernetes
// v1.37).
func batchJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[batchv1.JobSpec](c, doc)
	if from == nil {
		return nil
	}
	withoutJobMetadata(&job.ObjectMeta)
	path := field.NewPath("spec")
	s := &jobSet{
		conversion: c, job: job, path: path, suspend: path.Child("suspend"), isJob: true,
		pathOf: func(int) *field.Path { return path },
		from: &jobSetSpec{
			ReplicatedJobs: []replicatedJob{{
				Name: "worker", Template: batchv1.JobTemplateSpec{Spec: *from},
			}},
			Suspend: from.Suspend, ManagedBy: from.ManagedBy, TTLSecondsAfterFinished: from.TTLSecondsAfterFinished,
		},
	}
	to := s.convert()
	if to != nil {
		s.minParallelism()
	}
	return to
}

// minParallelism is the number of pods with which Kueue starts a Job if there is no quota for all.
func (s *jobSet) minParallelism() {
	path := field.NewPath("metadata", "annotations").Key(kueueMinParallelism)
	value, given := s.job.Annotations[kueueMinParallelism]
	delete(s.job.Annotations, kueueMinParallelism)
	delete(s.job.Annotations, kueueEqualCompletion)
	if len(s.job.Annotations) == 0 {
		s.job.Annotations = nil
	}
	if !given {
		return
	}
	least, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		s.fail(path, "%q is no number", value)
		return
	}
	s.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(least))
	s.warn(path, "is minAvailable: there the Job is made smaller, here the other ranks start when they fit")
}
