package spec

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// AsAttempted returns a copy of the job with the numbers of its current attempt: the replicas of each role,
// and minAvailable. Users can edit nothing else of an attempt while the gang runs (api/v1alpha1/rules.yaml,
// changes). A number that the status does not have stays as it is.
func AsAttempted(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	was := job.DeepCopy()
	if len(was.Spec.ReplicaSpecs) == 0 {
		restore(&was.Spec.Replicas, job.Status.ReplicaStatuses[v1alpha1.RoleWorker].Replicas)
	}
	for name, role := range was.Spec.ReplicaSpecs {
		restore(&role.Replicas, job.Status.ReplicaStatuses[name].Replicas)
		was.Spec.ReplicaSpecs[name] = role
	}
	if MinAvailable(was) != job.Status.MinAvailable {
		restore(&was.Spec.RunPolicy.SchedulingPolicy.MinAvailable, job.Status.MinAvailable)
	}
	return was
}

func restore(number **int32, was int32) {
	if was > 0 {
		*number = &was
	}
}
