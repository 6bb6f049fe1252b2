package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Gang returns the scheduler's input for an attempt of a job. hasPods: ranks of the attempt exist.
func Gang(job *v1alpha1.TrainingJob, attempt int32, hasPods bool) scheduler.Gang {
	policy := job.Spec.RunPolicy.SchedulingPolicy
	g := scheduler.Gang{
		Name: job.Name, Namespace: job.Namespace,
		Owner:         Owner(job),
		Labels:        map[string]string{v1alpha1.LabelJobName: job.Name},
		Attempt:       attempt,
		Queue:         spec.Queue(job),
		PriorityClass: policy.PriorityClass,
		WaitingClass:  waitingClass(job, attempt),
		MinAvailable:  spec.MinAvailable(job),
		Within:        spec.Within(job),

		PreemptionGate: hasPreemptionGate(job, attempt),
		HasPods:        hasPods,
		Dispatched:     spec.ManagedElsewhere(job),

		ScheduleTimeoutSeconds: policy.ScheduleTimeoutSeconds,
		JobLabels:              job.Labels,
		JobAnnotations:         job.Annotations,
	}
	if w := job.Status.Work; w != nil {
		g.Recalls = w.Recalled
	}
	left := g.MinAvailable
	ofRoles := spec.RoleMinima(job)
	for _, r := range spec.Roles(job) {
		first := min(left, r.Replicas)
		if ofRoles {
			first = r.MinAvailable
		}
		left -= first
		template, added := templateAndAdded(job, r)
		g.Roles = append(g.Roles, scheduler.Role{
			Name: spec.RoleKey(r.Name), Replicas: r.Replicas, MinAvailable: first,
			Template: template, AddedTolerations: added,
		})
	}
	g.MinResources = atLeast(minResources(g.Roles), policy.MinResources)
	g.MinResourcesGiven = len(policy.MinResources) > 0
	return g
}

// waitingClass returns the waiting class of an attempt's ranks. The status has it for the current attempt
// only.
func waitingClass(job *v1alpha1.TrainingJob, attempt int32) string {
	if s := job.Status.Scheduling; s != nil && attempt == job.Status.Attempt {
		return s.WaitingClass
	}
	return ""
}

func hasPreemptionGate(job *v1alpha1.TrainingJob, attempt int32) bool {
	s := job.Status.Scheduling
	return s != nil && attempt == job.Status.Attempt && s.PreemptionGate
}

// atLeast raises a list of resources to the user's values. The ranks' requests are the minimum: with a
// smaller sum the gang would bypass its queue's quota.
func atLeast(sum, given corev1.ResourceList) corev1.ResourceList {
	for name, q := range given {
		if floor := sum[name]; q.Cmp(floor) > 0 {
			sum[name] = q.DeepCopy()
		}
	}
	return sum
}

// minResources returns the sum of the requests of the gang's first minAvailable ranks, from the final pods
// (scheduler.RequestsOf).
func minResources(roles []scheduler.Role) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, role := range roles {
		for name, q := range scheduler.RequestsOf(&role.Template.Spec) {
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

func times(q resource.Quantity, n int32) resource.Quantity {
	q = q.DeepCopy()
	q.Mul(int64(n))
	return q
}

// GPUs returns the number of GPUs that all ranks of the job request. counted are the resources that count as
// GPUs.
func GPUs(job *v1alpha1.TrainingJob, counted framework.GPUs) int64 {
	var n int64
	for _, role := range spec.Roles(job) {
		n += gpusOfRank(job, role, counted) * int64(role.Replicas)
	}
	return n
}

// GPUsOfRanks returns the number of GPUs that the given numbers of ranks of each role request.
func GPUsOfRanks(job *v1alpha1.TrainingJob, ranks map[v1alpha1.Role]int32, counted framework.GPUs) int64 {
	var n int64
	for _, role := range spec.Roles(job) {
		if some := ranks[role.Name]; some > 0 {
			n += gpusOfRank(job, role, counted) * int64(some)
		}
	}
	return n
}

func gpusOfRank(job *v1alpha1.TrainingJob, role spec.Role, counted framework.GPUs) int64 {
	return counted.Sum(scheduler.RequestsOf(&roleTemplate(job, role).Spec))
}
