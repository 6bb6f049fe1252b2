package decision

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Plan is what pkg/controller must do. With a transition it only writes the status. Otherwise it carries out
// everything in this order: group, Service, deletes, creates, status. Names are part of the Service.
type Plan struct {
	// Status is the complete status, written if it differs from the job's. Changes that can wait for a
	// transition (counts, blockers) are held back until Wake.
	Status v1alpha1.TrainingJobStatus
	// Transition: Status changes phase, attempt or drain. The effects follow in the next reconcile.
	Transition bool
	// Group says whether the gang's objects must exist.
	Group GroupAction
	// GangStatus is reported to a scheduler.QuotaSystem, once the group is as planned.
	GangStatus scheduler.GangStatus
	// Service says whether the headless Service must exist.
	Service GroupAction
	// Names says whether the Service has addresses: exactly those of the ranks in Named, or none.
	Names GroupAction
	Named []render.NamedRank
	// Delete these pods, by name and UID.
	Delete []PodDeletion
	// Create these ranks of attempt Status.Attempt.
	Create []spec.RankRef
	// Resolve: the pod that searches the volume must be created (see render.Resolver).
	Resolve bool
	// WakeScheduler is recorded on an object that the scheduler watches, to wake it (see scheduler.Waker).
	WakeScheduler *observation.Woken
	// OtherReason is kept until the next decision: if it lasts, it replaces the reported reason. Nil: there
	// is none.
	OtherReason *observation.OtherReason
	// DeleteJob: the job's time to live is over.
	DeleteJob bool
	// Wake is when time alone changes the plan; zero: never.
	Wake time.Time
	// Events to record once Status is persisted.
	Events []Event
	// Notes explain the plan, for the log and the golden stories.
	Notes []string
}

// GroupAction is what to do with objects other than pods.
type GroupAction string

const (
	// Keep: leave them as they are.
	Keep GroupAction = "Keep"
	// Apply: exactly those computed for the current attempt must exist.
	Apply GroupAction = "Apply"
	// Remove: none may exist.
	Remove GroupAction = "Remove"
	// Finish: none may exist, except for those that a scheduler keeps of a finished gang.
	Finish GroupAction = "Finish"
)

// PodDeletion is one pod to delete, by UID so that a later pod of the same name is safe.
type PodDeletion struct {
	Pod *corev1.Pod
	Why string
	// Force: without a grace period, although its node does not report that it has ended.
	Force bool
}

// Event is one Kubernetes event on the job.
type Event struct {
	// Warning, else Normal.
	Warning bool
	Reason  string
	// Action in the sense of events.k8s.io: what the operator did.
	Action  string
	Message string
	// Once, unless empty, identifies the event, which is recorded once per attempt.
	Once string
}

// NewPlan returns a plan that changes only the observed generation.
func NewPlan(o *observation.Observation) *Plan {
	p := &Plan{Status: *o.Job.Status.DeepCopy(), Group: Keep, Service: Keep, Names: Keep}
	p.Status.ObservedGeneration = o.Job.Generation
	return p
}

// WakeAt plans a reconcile at t, or earlier if one is planned already.
func (p *Plan) WakeAt(t time.Time) {
	if p.Wake.IsZero() || t.Before(p.Wake) {
		p.Wake = t
	}
}

// Note adds a line to the notes.
func (p *Plan) Note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// Normal adds an event of type Normal.
func (p *Plan) Normal(reason, action, message string) {
	p.Events = append(p.Events, Event{Reason: reason, Action: action, Message: message})
}

// Warning adds an event of type Warning.
func (p *Plan) Warning(reason, action, message string) {
	p.Events = append(p.Events, Event{Warning: true, Reason: reason, Action: action, Message: message})
}

// Checkpoint returns the status's checkpoint, which it creates if missing.
func (p *Plan) Checkpoint() *v1alpha1.CheckpointStatus {
	if p.Status.Checkpoint == nil {
		p.Status.Checkpoint = &v1alpha1.CheckpointStatus{}
	}
	return p.Status.Checkpoint
}

// deletePod plans the deletion of one pod, unless the pod is terminating already.
func (p *Plan) deletePod(pod *corev1.Pod, why string) {
	if pod.DeletionTimestamp != nil {
		return
	}
	p.Delete = append(p.Delete, PodDeletion{Pod: pod, Why: why})
	p.Note("delete %s: %s", pod.Name, why)
}

func (p *Plan) deletePods(pods []*corev1.Pod, why string) {
	for _, pod := range pods {
		p.deletePod(pod, why)
	}
}
