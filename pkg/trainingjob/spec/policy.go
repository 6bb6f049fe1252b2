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

// Scope returns what a failure restarts: Rank if the job sets it, is elastic, or has the restart policy
// Always, which only the kubelet can carry out; else Gang.
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

// Within returns the key of the node label whose domains must contain the gang; "" if the job requires none.
func Within(job *v1alpha1.TrainingJob) string {
	if t := job.Spec.RunPolicy.SchedulingPolicy.Topology; t != nil && t.Mode == v1alpha1.TopologyWithin {
		return t.Key
	}
	return ""
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

// RoleMinima reports whether a role sets its own minAvailable.
func RoleMinima(job *v1alpha1.TrainingJob) bool {
	for _, role := range job.Spec.ReplicaSpecs {
		if role.MinAvailable != nil {
			return job.Spec.RunPolicy.SchedulingPolicy.MinAvailable == nil
		}
	}
	return false
}

// Suspended reports whether the user suspends the job.
func Suspended(job *v1alpha1.TrainingJob) bool {
	return job.Spec.RunPolicy.Suspend != nil && *job.Spec.RunPolicy.Suspend
}

// ManagedElsewhere reports whether another controller runs the job and writes its status.
func ManagedElsewhere(job *v1alpha1.TrainingJob) bool {
	return job.Spec.ManagedBy != "" && job.Spec.ManagedBy != v1alpha1.ManagedByOperator
}

// HoldsNodes reports whether ranks of the job are, or may be, on nodes of this cluster.
func HoldsNodes(job *v1alpha1.TrainingJob) bool {
	switch job.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining:
		return !ManagedElsewhere(job)
	}
	return false
}

// LastEntry returns the index of the last entry into a phase; -1 if there is none.
func LastEntry(ts []v1alpha1.Transition, phase v1alpha1.Phase) int {
	for i := len(ts) - 1; i >= 0; i-- {
		if ts[i].Phase == phase {
			return i
		}
	}
	return -1
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

// RecordedScheduler returns the scheduler in the status of a job, which stays while the job is queued or
// runs; "" for a job that must choose one.
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

// ChooseScheduler returns the scheduler of a job: the recorded one while the job is queued or runs; else the
// spec's; else Kueue if the job has its queue label, since any other one would bypass the quota of that
// queue; else the operator's default; else the first other one of available, which the caller orders by
// preference; else "".
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

// Revision returns a short hash of the part of the spec that defines an attempt: ranks, their pods, and the
// group. It covers the user's spec, not the rendered objects, so that an upgrade of the operator restarts no
// training. It omits fields that can change while the gang runs.
func Revision(job *v1alpha1.TrainingJob) string {
	spec := job.Spec.DeepCopy()
	if c := spec.Checkpoint; c != nil {
		c.Interval, c.KeepLast = nil, nil
	}
	return revisionOf(spec)
}

// FormerRevision returns the hash of operators up to 0.1.0, which includes the checkpoints' interval and
// number. With it, an attempt that one of them started continues after the upgrade.
func FormerRevision(job *v1alpha1.TrainingJob) string { return revisionOf(job.Spec.DeepCopy()) }

func revisionOf(spec *v1alpha1.TrainingJobSpec) string {
	spec.BackoffLimit, spec.SuccessPolicy, spec.Rehearsal = nil, "", nil
	policy := spec.RunPolicy.SchedulingPolicy
	policy.Scheduler, policy.Queue, policy.ScheduleTimeoutSeconds, policy.Backfill = "", "", nil, ""
	spec.RunPolicy = v1alpha1.RunPolicy{RestartScope: spec.RunPolicy.RestartScope, SchedulingPolicy: policy}
	text, err := json.Marshal(spec)
	if err != nil { // a spec that was decoded from JSON can always be encoded
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}
