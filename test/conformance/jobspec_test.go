//go:build cluster

package conformance

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// jobSpec describes a job to submit, as a user would write it.
type jobSpec struct {
	name        string
	ranks, gpus int32 // gpus are those of each rank
	// roles replace ranks and gpus in the full form.
	roles        []roleSpec
	class, queue string
	minAvailable int32
	timeout      int32
	// deadline is activeDeadlineSeconds; 0: none. lent: the gang accepts lent capacity.
	deadline     int64
	lent         bool
	suspended    bool
	cleanPods    v1alpha1.CleanPodPolicy
	backoffLimit *int32
	// trainer makes the ranks simulated trainers with this behavior (localcluster.AnnotationTrainer) and
	// gives the job checkpoints; retain is the policy of their volume claim.
	trainer string
	retain  v1alpha1.RetainPolicy
	// liveness mode; empty: none.
	liveness v1alpha1.LivenessMode
	// rehearsal of the trainer; nil: none. grace of its saves in seconds; 0: the default.
	rehearsal *v1alpha1.RehearsalPolicy
	grace     int32
}

type roleSpec struct {
	role        v1alpha1.Role
	ranks, gpus int32
}

// job returns the TrainingJob. Its ranks run until a step ends them: no fake node ends their command.
func (a jobSpec) job(e *Env) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: a.name, Namespace: e.namespace},
		Spec: v1alpha1.TrainingJobSpec{
			Framework:    v1alpha1.FrameworkCustom,
			BackoffLimit: a.backoffLimit,
			RunPolicy: v1alpha1.RunPolicy{
				CleanPodPolicy: a.cleanPods,
				SchedulingPolicy: v1alpha1.SchedulingPolicy{
					PriorityClass: a.class, Queue: a.queue,
				},
			},
		},
	}
	if a.liveness != "" {
		j.Spec.RunPolicy.Liveness = &v1alpha1.LivenessPolicy{
			Mode: a.liveness, HangAfterSeconds: ptr.To(int32(120)), // the least
		}
	}
	if a.suspended {
		j.Spec.RunPolicy.Suspend = ptr.To(true)
	}
	if a.deadline > 0 {
		j.Spec.RunPolicy.ActiveDeadlineSeconds = ptr.To(a.deadline)
	}
	policy := &j.Spec.RunPolicy.SchedulingPolicy
	if a.lent {
		policy.Backfill = v1alpha1.BackfillLent
	}
	if label := e.dialect.queueLabel; label != "" {
		j.Labels = map[string]string{label: cmp.Or(a.queue, defaultQueue)}
		policy.Queue = ""
	}
	if e.dialect.namedInSpec {
		policy.Scheduler = v1alpha1.SchedulerName(e.dialect.name)
	}
	if a.minAvailable > 0 {
		policy.MinAvailable = ptr.To(a.minAvailable)
	}
	if a.timeout > 0 {
		policy.ScheduleTimeoutSeconds = ptr.To(a.timeout)
	}
	if len(a.roles) > 0 {
		j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
		for _, r := range a.roles {
			j.Spec.ReplicaSpecs[r.role] = v1alpha1.ReplicaSpec{Replicas: ptr.To(r.ranks),
				Template: podTemplate(e, r.gpus)}
		}
		return j
	}
	template := podTemplate(e, a.gpus)
	if a.trainer != "" {
		template.Annotations = map[string]string{localcluster.AnnotationTrainer: a.trainer}
		j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
			Replicas: ptr.To(a.ranks), Template: template,
		}}
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{
			PVC: v1alpha1.CheckpointClaim{StorageClassName: ptr.To(localcluster.StorageClass), Retain: a.retain},
		}
		if a.grace > 0 {
			j.Spec.Checkpoint.GraceSeconds = ptr.To(a.grace)
		}
		j.Spec.Rehearsal = a.rehearsal
		return j
	}
	j.Spec.Image, j.Spec.Command, j.Spec.Replicas = image, command, ptr.To(a.ranks)
	j.Spec.Resources = gpuRequests(a.gpus)
	j.Spec.NodeSelector = template.Spec.NodeSelector
	return j
}

const image = "example.com/trainer:1"

var command = []string{"python", "train.py"}

func gpuRequests(n int32) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{GPU: *resource.NewQuantity(int64(n),
		resource.DecimalSI)}}
}

// podTemplate is that of a rank, which runs on the nodes of its environment alone.
func podTemplate(e *Env, gpus int32) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{poolLabel: e.pool},
		Containers: []corev1.Container{{
			Name: "trainer", Image: image, Command: command, Resources: gpuRequests(gpus),
		}},
	}}
}
