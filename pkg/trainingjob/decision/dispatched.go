package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// evictionRecheck is how often the operator checks a dispatched gang that its scheduler evicts. A lost
// cluster sends no event, and the operator must not wait forever for its ranks.
const evictionRecheck = time.Minute

// Dispatched plans for a job that another controller runs. If its scheduler dispatches it to another cluster,
// the gang's objects must exist here until the job is suspended or finished. Nothing is planned for jobs of
// other controllers. The status belongs to the other controller and stays unchanged; problems are events.
func Dispatched(s observation.Snapshot) *Plan {
	p := &Plan{Status: *s.Job.Status.DeepCopy(), Group: Keep, Service: Keep, Names: Keep}
	if b := s.SchedulerProblem; b != nil {
		p.warnOnce(b.Reason, "Dispatch", b.Message+"; "+b.NextStep)
		return p
	}
	if by := scheduler.Of(s.Backend).ManagedBy; by == "" || by != s.Job.Spec.ManagedBy {
		return p
	}
	switch errs := s.Gang.Errors(); {
	case s.Job.Status.Phase.Finished():
		p.Group = Finish
		expire(s.Job, s.Now, p)
	case spec.Suspended(s.Job):
		p.Group = Remove
	case len(errs) > 0:
		p.warnOnce(v1alpha1.ReasonInvalidSpec, "Validate", errs.ToAggregate().Error())
	case s.Gang.Computed:
		p.Group = Apply
	}
	if b := s.CreateBackoff; b != nil && p.Group == Apply {
		p.warnOnce(b.Blocker.Reason, "Dispatch", b.Blocker.Message+"; "+b.Blocker.NextStep)
		p.WakeAt(b.RetryTime)
	}
	if runsElsewhere(s.Job) && s.Verdict.Admission != scheduler.Go {
		p.WakeAt(s.Now.Add(evictionRecheck))
	}
	return p
}

func runsElsewhere(job *v1alpha1.TrainingJob) bool {
	for _, role := range job.Status.ReplicaStatuses {
		if role.Active > 0 {
			return true
		}
	}
	return false
}

// warnOnce adds a Warning event that is recorded once per reason and message.
func (p *Plan) warnOnce(reason, action, message string) {
	p.Events = append(p.Events, Event{
		Warning: true, Reason: reason, Action: action, Message: message, Once: reason + ": " + message,
	})
}
