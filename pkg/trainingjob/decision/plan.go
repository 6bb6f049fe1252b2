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

// Plan is what is to be done. If Status holds a transition (a change of phase or attempt), the shell writes
// the status and does nothing else; otherwise it does everything in this order: group, Service, deletes,
// creates, status. Names are part of the Service.
type Plan struct {
	// Status is the whole status; the shell writes it when it differs from the job's. Changes that can wait
	// for a transition (counts, blockers) are held back, and Wake says until when.
	Status v1alpha1.TrainingJobStatus
	// Transition: Status changes phase, attempt or drain. It is written alone; effects follow in the next
	// reconcile.
	Transition bool
	// Group says whether the gang's objects must exist.
	Group GroupAction
	// GangStatus is what a scheduler.QuotaSystem receives of the gang, once the group is as planned.
	GangStatus scheduler.GangStatus
	// Service says whether the headless Service must exist.
	Service GroupAction
	// Names says whether the ranks have addresses under the Service: exactly those Named, or nobody.
	Names GroupAction
	Named []render.NamedRank
	// Delete these pods, by name and UID.
	Delete []PodDeletion
	// Create these ranks of attempt Status.Attempt.
	Create []spec.RankRef
	// Resolve: the pod that searches the volume must be created (see render.Resolver).
	Resolve bool
	// WakeScheduler: the scheduler must be woken, and this is recorded on what it watches (see scheduler.Waker).
	WakeScheduler *observation.Woken
	// OtherReason is to be remembered until the next decision: it may replace the reason that was told, if it
	// lasts. Nil: there is none.
	OtherReason *observation.OtherReason
	// DeleteJob: the job's time to live is over.
	DeleteJob bool
	// Wake is when time alone changes the answer; zero: never.
	Wake time.Time
	// Events to record once Status is persisted.
	Events []Event
	// Notes say in prose why the plan is what it is, for the log and the golden stories.
	Notes []string
}

// GroupAction is what to do with objects beside the pods.
type GroupAction string

const (
	// Keep: leave them as they are.
	Keep GroupAction = "Keep"
	// Apply: they must exist as computed for the current attempt, and no others of the job's.
	Apply GroupAction = "Apply"
	// Remove: none may exist.
	Remove GroupAction = "Remove"
	// Finish: none may exist, except for what a scheduler keeps of a finished gang.
	Finish GroupAction = "Finish"
)

// PodDeletion names one pod to delete, by UID so that a successor of the same name is safe.
type PodDeletion struct {
	Pod *corev1.Pod
	Why string
	// Force: without a grace period, although its node does not say that it has ended.
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
	// Once, where it is set, identifies the event: it is not recorded again in the same attempt.
	Once string
}

// NewPlan is a plan that changes nothing but the observed generation.
func NewPlan(o *observation.Observation) *Plan {
	p := &Plan{Status: *o.Job.Status.DeepCopy(), Group: Keep, Service: Keep, Names: Keep}
	p.Status.ObservedGeneration = o.Job.Generation
	return p
}

// WakeAt asks for a reconcile at t, or at an earlier time that is planned already.
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

// Checkpoint is the status's checkpoint, made when missing.
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
