package observation

import (
	"errors"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Gang is a job's gang as its scheduler's dialect renders it, once per reconcile.
type Gang struct {
	// Invalid are the errors of the job; Unsupported is what its scheduler's dialect cannot express.
	Invalid, Unsupported field.ErrorList
	// MadeFrom is the job with the spec of its current attempt, if its spec is invalid now; nil if it is valid
	// or was never valid.
	MadeFrom *v1alpha1.TrainingJob
	// Gang of the current attempt; nil while the job has no scheduler, has finished, or has no known role.
	Gang *scheduler.Gang
	// Wanted are the objects that must exist for the gang, if Computed is true. The objects of an invalid job
	// are unknown, which differs from none.
	Wanted   scheduler.Objects
	Computed bool
	// WantedErr is why the dialect cannot render the gang.
	WantedErr error
}

// Known reports whether Gang describes the existing gang. For an invalid job it does only if the former spec
// is known.
func (g Gang) Known() bool { return g.Gang != nil && (len(g.Invalid) == 0 || g.MadeFrom != nil) }

// Errors returns all errors of the spec. With an error the gang is not rendered and nothing is created for
// it.
func (g Gang) Errors() field.ErrorList {
	return append(g.Invalid[:len(g.Invalid):len(g.Invalid)], g.Unsupported...)
}

// NotServed returns why the gang waits without a group, if its scheduler cannot keep what it requires.
func (g Gang) NotServed() (scheduler.Explanation, bool) {
	var notServed *scheduler.NotServed
	if !errors.As(g.WantedErr, &notServed) {
		return scheduler.Explanation{}, false
	}
	return notServed.Explanation, true
}

// DescribeGang validates a job and renders its gang for a backend, which may be nil. existing are the gang's
// objects, clusterObjects those of its scheduler.Traits.ClusterKinds. gated: it has an admission gate. A
// finished job has no gang.
func DescribeGang(
	job *v1alpha1.TrainingJob, backend scheduler.Backend, pods []*corev1.Pod,
	existing, clusterObjects scheduler.Objects, gated bool,
) Gang {
	var g Gang
	if job.Status.Phase.Finished() {
		return g
	}
	g.Invalid = append(validation.Validate(job), validation.ValidateRequest(job)...)
	if backend != nil {
		g.describe(job, backend, pods, existing, clusterObjects, gated)
	}
	if len(g.Errors()) == 0 || job.Status.Attempt == 0 {
		return g
	}
	g.MadeFrom = spec.AsAttempted(job)
	if g.Gang == nil {
		return g
	}
	made := gangOf(g.MadeFrom, pods, existing, clusterObjects)
	if st := job.Status.Scheduling; st != nil {
		made.Submitted, made.Queue = st.Group, st.Queue
	}
	g.Gang = &made
	return g
}

// describe renders the gang for the backend, unless the job is invalid.
func (g *Gang) describe(
	job *v1alpha1.TrainingJob, backend scheduler.Backend, pods []*corev1.Pod,
	existing, clusterObjects scheduler.Objects, gated bool,
) {
	gang := gangOf(job, pods, existing, clusterObjects)
	gang.AdmissionGate = gated
	if len(gang.Roles) == 0 {
		return
	}
	g.Gang = &gang
	if len(g.Invalid) > 0 {
		return
	}
	if g.Unsupported = backend.Validate(gang); len(g.Unsupported) > 0 {
		return
	}
	g.Wanted, g.WantedErr = backend.Objects(gang)
	g.Computed = true
}

// gangOf returns the gang of the job's current attempt.
func gangOf(
	job *v1alpha1.TrainingJob, pods []*corev1.Pod, existing, clusterObjects scheduler.Objects,
) scheduler.Gang {
	attempt := max(job.Status.Attempt, 1)
	gang := render.Gang(job, attempt, hasPods(pods, attempt))
	gang.Existing, gang.ClusterObjects = existing, clusterObjects
	gang.UnschedulableMessages = UnschedulableMessages(pods, attempt)
	return gang
}

// GroupName returns the name of the scheduler's object for an attempt of the gang: the first object that the
// dialect renders. It returns "" if the gang cannot be rendered.
func (g Gang) GroupName(backend scheduler.Backend, attempt int32) string {
	if g.Gang == nil {
		return ""
	}
	next := *g.Gang
	next.Attempt, next.HasPods = attempt, false
	objs, err := backend.Objects(next)
	if err != nil || len(objs) == 0 {
		return "" // pkg/controller reports the same error when it applies the objects
	}
	return objs[0].GetName()
}

// UnschedulableMessages returns the scheduler's messages on the pods of an attempt that it could not place,
// sorted by the pods' names.
func UnschedulableMessages(pods []*corev1.Pod, attempt int32) []string {
	label := strconv.Itoa(int(attempt))
	byPod := map[string]string{}
	for _, pod := range pods {
		c := condition(pod, corev1.PodScheduled)
		if c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable &&
			pod.Labels[v1alpha1.LabelAttempt] == label {
			byPod[pod.Name] = Line(c.Message)
		}
	}
	return valuesByKey(byPod)
}

// hasPods reports whether ranks of the attempt exist.
func hasPods(pods []*corev1.Pod, attempt int32) bool {
	label := strconv.Itoa(int(attempt))
	for _, pod := range pods {
		if pod.Labels[v1alpha1.LabelAttempt] == label {
			return true
		}
	}
	return false
}
