package spec

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal"
)

// Defaults of spec.rehearsal.
const (
	DefaultOverlapSteps     int32 = 20
	DefaultTolerancePercent int32 = 5
	DefaultRehearsalSeconds int32 = 3600
)

// minSaveLimit is how long after the first step of a rehearsal a checkpoint must be complete, at least; twice
// the interval of checkpoints if that is longer.
const minSaveLimit = 10 * time.Minute

// defaultWays of a rehearsal.
var defaultWays = []v1alpha1.RehearsalWay{
	v1alpha1.RehearsalKill, v1alpha1.RehearsalAsk, v1alpha1.RehearsalTerm, v1alpha1.RehearsalKillInSave,
}

// IsRehearsal reports whether the operator ends the job's attempts itself and checks that they resume.
func IsRehearsal(job *v1alpha1.TrainingJob) bool { return job.Spec.Rehearsal != nil }

// Rehearsal returns the policy of a rehearsal with its defaults, for a job with spec.rehearsal.
func Rehearsal(job *v1alpha1.TrainingJob) rehearsal.Policy {
	p := job.Spec.Rehearsal
	policy := rehearsal.Policy{
		Ways:  p.Ways,
		Exact: p.Exact,

		OverlapSteps:     int64(OrDefault(p.OverlapSteps, DefaultOverlapSteps)),
		TolerancePercent: int64(OrDefault(p.TolerancePercent, DefaultTolerancePercent)),
		Timeout:          time.Duration(OrDefault(p.TimeoutSeconds, DefaultRehearsalSeconds)) * time.Second,
		SaveLimit:        minSaveLimit,
		Ranks:            Ranks(job),
	}
	if len(policy.Ways) == 0 {
		policy.Ways = defaultWays
	}
	if c := Checkpoints(job); c != nil {
		policy.GraceSeconds = int64(OrDefault(c.GraceSeconds, DefaultGraceSeconds))
		policy.KeepLast = OrDefault(c.KeepLast, 0)
		interval := time.Duration(OrDefault(c.Interval, DefaultCheckpointInterval)) * time.Second
		policy.SaveLimit = max(minSaveLimit, 2*interval)
	}
	return policy
}
