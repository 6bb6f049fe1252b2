package trainingjob

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// NewGang is what the scheduler must know of the given attempt of a valid job.
func NewGang(job *v1alpha1.TrainingJob, attempt int32, hasPods bool) scheduler.Gang {
	policy := job.Spec.RunPolicy.SchedulingPolicy
	roles := Roles(job)
	g := scheduler.Gang{
		Name: job.Name, Namespace: job.Namespace,
		Owner:         Owner(job),
		Labels:        map[string]string{v1alpha1.LabelJobName: job.Name},
		Attempt:       attempt,
		Queue:         Queue(job),
		PriorityClass: policy.PriorityClass,
		MinAvailable:  MinAvailable(job),
		MinResources:  policy.MinResources,
		HasPods:       hasPods,

		ScheduleTimeoutSeconds: policy.ScheduleTimeoutSeconds,
		JobLabels:              job.Labels,
		JobAnnotations:         job.Annotations,
	}
	left := g.MinAvailable
	for _, r := range roles {
		first := min(left, r.Replicas)
		left -= first
		g.Roles = append(g.Roles, scheduler.Role{
			Name: strings.ToLower(string(r.Name)), Replicas: r.Replicas, MinAvailable: first, Template: renderTemplate(job, r),
		})
	}
	if g.MinResourcesGiven = len(g.MinResources) > 0; !g.MinResourcesGiven {
		g.MinResources = minResources(g.Roles)
	}
	return g
}

// UnschedulableMessages of an attempt's pods, for Gang.UnschedulableMessages.
func UnschedulableMessages(pods []*corev1.Pod, attempt int32) []string {
	label := strconv.Itoa(int(attempt))
	said := map[string]string{}
	for _, pod := range pods {
		c := condition(pod, corev1.PodScheduled)
		if c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && pod.Labels[v1alpha1.LabelAttempt] == label {
			said[pod.Name] = c.Message
		}
	}
	var refusals []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		refusals = append(refusals, said[name])
	}
	return refusals
}

// Owner is the job as the controlling owner of everything made for it.
func Owner(job *v1alpha1.TrainingJob) metav1.OwnerReference {
	return *metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind("TrainingJob"))
}

// minResources is what the gang's first minAvailable ranks request together, from the pods as they will be: with init
// containers, sidecars and overhead (k8s.io/component-helpers/resource, the scheduler's own sum).
func minResources(roles []scheduler.Role) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, role := range roles {
		for name, q := range requestsOf(role.Template) {
			total := sum[name]
			total.Add(times(q, role.MinAvailable))
			sum[name] = total
		}
	}
	for name, q := range sum {
		if q.IsZero() {
			delete(sum, name)
		}
	}
	return sum
}

func requestsOf(template *corev1.PodTemplateSpec) corev1.ResourceList {
	return resourcehelper.PodRequests(&corev1.Pod{Spec: template.Spec}, resourcehelper.PodResourcesOptions{})
}

func times(q resource.Quantity, n int32) resource.Quantity {
	q = q.DeepCopy()
	q.Mul(int64(n))
	return q
}

// GPUs that the whole gang asks for: every extended resource whose name ends in "/gpu" (nvidia.com/gpu, amd.com/gpu).
func GPUs(job *v1alpha1.TrainingJob) int64 {
	var n int64
	for _, role := range Roles(job) {
		for name, q := range requestsOf(renderTemplate(job, role)) {
			if strings.HasSuffix(string(name), "/gpu") {
				n += q.Value() * int64(role.Replicas)
			}
		}
	}
	return n
}

// Revision is a short hash of the part of the spec that an attempt is made from: ranks, their pods, and what the group says.
// It is taken over what the user wrote, not over what the operator renders from it, so that an upgrade of the operator
// restarts nobody's training. Left out is what may change while the gang runs.
func Revision(job *v1alpha1.TrainingJob) string {
	spec := job.Spec.DeepCopy()
	spec.BackoffLimit = nil
	policy := spec.RunPolicy.SchedulingPolicy
	policy.Scheduler, policy.Queue, policy.ScheduleTimeoutSeconds = "", "", nil
	spec.RunPolicy = v1alpha1.RunPolicy{RestartScope: spec.RunPolicy.RestartScope, SchedulingPolicy: policy}
	text, err := json.Marshal(spec)
	if err != nil { // a spec that came from JSON always goes back to it
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5])
}

// ChooseScheduler names the scheduler of a job: the one that its status recorded, for as long as it is queued or runs; else the
// spec's; else the operator's default; else Kueue where the job carries its queue label, since nobody else reads that; else the
// first other one of available, which the caller orders by preference. "" where there is none.
func ChooseScheduler(job *v1alpha1.TrainingJob, operatorDefault string, available []string) string {
	switch job.Status.Phase {
	case "", v1alpha1.PhasePending, v1alpha1.PhaseSuspended:
	default:
		if s := job.Status.Scheduling; s != nil && s.Scheduler != "" {
			return string(s.Scheduler)
		}
	}
	if s := job.Spec.RunPolicy.SchedulingPolicy.Scheduler; s != "" {
		return string(s)
	}
	if operatorDefault != "" {
		return operatorDefault
	}
	const kueue = string(v1alpha1.SchedulerKueue)
	if job.Labels[v1alpha1.LabelKueueQueue] != "" && slices.Contains(available, kueue) {
		return kueue
	}
	for _, name := range available {
		if name != kueue {
			return name
		}
	}
	return ""
}
