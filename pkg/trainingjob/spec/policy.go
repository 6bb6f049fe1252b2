package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// DefaultBackoffLimit is the number of failures that restart a gang unless the spec gives another.
const DefaultBackoffLimit int32 = 3

// Scope is what a failure restarts: the gang, unless the job says Rank, is elastic, or has the restart policy
// Always, which only the kubelet can carry out.
func Scope(job *v1alpha1.TrainingJob) v1alpha1.RestartScope {
	if s := job.Spec.RunPolicy.RestartScope; s != "" {
		return s
	}
	if Elastic(job) || job.Spec.RestartPolicy == v1alpha1.RestartAlways {
		return v1alpha1.ScopeRank
	}
	for _, spec := range job.Spec.ReplicaSpecs {
		if spec.RestartPolicy == v1alpha1.RestartAlways {
			return v1alpha1.ScopeRank
		}
	}
	return v1alpha1.ScopeGang
}

// restartPolicy of a role: its own, else the job's, else OnFailure.
func restartPolicy(job *v1alpha1.TrainingJob, own v1alpha1.RestartPolicy) v1alpha1.RestartPolicy {
	switch {
	case own != "":
		return own
	case job.Spec.RestartPolicy != "":
		return job.Spec.RestartPolicy
	}
	return v1alpha1.RestartOnFailure
}

// BackoffLimit is the number of failures that restart the gang; the next one fails the job.
func BackoffLimit(job *v1alpha1.TrainingJob) int32 {
	if l := job.Spec.BackoffLimit; l != nil {
		return *l
	}
	if l := job.Spec.RunPolicy.BackoffLimit; l != nil {
		return *l
	}
	return DefaultBackoffLimit
}

// Elastic reports whether the gang trains with as many ranks as there are, from a minimum on.
func Elastic(job *v1alpha1.TrainingJob) bool { return job.Spec.ElasticPolicy != nil }

// MinAvailable is the number of ranks that start together or not at all; by default those that an elastic
// gang can train with, else all of them.
func MinAvailable(job *v1alpha1.TrainingJob) int32 {
	if m := job.Spec.RunPolicy.SchedulingPolicy.MinAvailable; m != nil {
		return *m
	}
	if RoleMinima(job) {
		var n int32
		for _, role := range Roles(job) {
			n += role.MinAvailable
		}
		return n
	}
	if Elastic(job) {
		return job.Spec.ElasticPolicy.MinReplicas
	}
	return Ranks(job)
}

// RoleMinima reports whether a role says by itself how many of its ranks start together or not at all.
func RoleMinima(job *v1alpha1.TrainingJob) bool {
	for _, role := range job.Spec.ReplicaSpecs {
		if role.MinAvailable != nil {
			return job.Spec.RunPolicy.SchedulingPolicy.MinAvailable == nil
		}
	}
	return false
}

// Suspended reports whether the user wants the job to hold nothing.
func Suspended(job *v1alpha1.TrainingJob) bool {
	return job.Spec.RunPolicy.Suspend != nil && *job.Spec.RunPolicy.Suspend
}

// ManagedElsewhere reports whether somebody else than this operator runs the job and writes its status.
func ManagedElsewhere(job *v1alpha1.TrainingJob) bool {
	return job.Spec.ManagedBy != "" && job.Spec.ManagedBy != v1alpha1.ManagedByOperator
}

// Queue is the queue that the job names: in the spec, else by Kueue's label, else by Volcano's annotation; ""
// for none.
func Queue(job *v1alpha1.TrainingJob) string {
	for _, q := range []string{
		job.Spec.RunPolicy.SchedulingPolicy.Queue,
		job.Labels[v1alpha1.LabelKueueQueue],
		job.Annotations[v1alpha1.AnnotationVolcanoQueue],
	} {
		if q != "" {
			return q
		}
	}
	return ""
}

// PriorityClass is the class that the job names for its place in the queue; "" for none. Only Kueue reads the
// label.
func PriorityClass(job *v1alpha1.TrainingJob) string {
	if st := job.Status.Scheduling; st != nil && st.Scheduler == v1alpha1.SchedulerKueue {
		if class := job.Labels[v1alpha1.LabelKueuePriority]; class != "" {
			return class
		}
	}
	return job.Spec.RunPolicy.SchedulingPolicy.PriorityClass
}

// RecordedScheduler is the scheduler that the status of a job recorded, which it keeps while it is queued or
// runs; "" for a job that has to choose one.
func RecordedScheduler(job *v1alpha1.TrainingJob) string {
	switch job.Status.Phase {
	case "", v1alpha1.PhasePending, v1alpha1.PhaseSuspended:
		return ""
	}
	if s := job.Status.Scheduling; s != nil {
		return string(s.Scheduler)
	}
	return ""
}

// ChooseScheduler names the scheduler of a job: the one that its status recorded, while the job is queued or
// runs; else the spec's; else Kueue where the job carries its queue label, since any other one would pass by
// the quota of that queue; else the operator's default; else the first other one of available, which the
// caller orders by preference. "" when there is none.
func ChooseScheduler(job *v1alpha1.TrainingJob, operatorDefault string, available []string) string {
	if s := RecordedScheduler(job); s != "" {
		return s
	}
	if s := job.Spec.RunPolicy.SchedulingPolicy.Scheduler; s != "" {
		return string(s)
	}
	const kueue = string(v1alpha1.SchedulerKueue)
	if job.Labels[v1alpha1.LabelKueueQueue] != "" && slices.Contains(available, kueue) {
		return kueue
	}
	if operatorDefault != "" {
		return operatorDefault
	}
	for _, name := range available {
		if name != kueue {
			return name
		}
	}
	return ""
}

// Revision is a short hash of the part of the spec that an attempt is made from: ranks, their pods, and what
// the group says. It covers what the user wrote and not what the operator renders from it, so that an upgrade
// of the operator restarts no training. It leaves out what may change while the gang runs.
func Revision(job *v1alpha1.TrainingJob) string {
	spec := job.Spec.DeepCopy()
	if c := spec.Checkpoint; c != nil {
		c.Interval, c.KeepLast = nil, nil
	}
	return revisionOf(spec)
}

// FormerRevision is the hash that operators up to 0.1.0 made of a spec, with the checkpoints' interval and
// number: an attempt that one of them began goes on under this one.
func FormerRevision(job *v1alpha1.TrainingJob) string { return revisionOf(job.Spec.DeepCopy()) }

func revisionOf(spec *v1alpha1.TrainingJobSpec) string {
	spec.BackoffLimit, spec.SuccessPolicy = nil, ""
	policy := spec.RunPolicy.SchedulingPolicy
	policy.Scheduler, policy.Queue, policy.ScheduleTimeoutSeconds = "", "", nil
	spec.RunPolicy = v1alpha1.RunPolicy{RestartScope: spec.RunPolicy.RestartScope, SchedulingPolicy: policy}
	text, err := json.Marshal(spec)
	if err != nil { // a spec that was decoded from JSON can always be encoded
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}
