package render

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// IsResolver reports whether a pod of a job searches its volume for checkpoints. Such a pod is no rank.
func IsResolver(pod *corev1.Pod) bool {
	return pod.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentResolver
}

// ResolveTry returns the number of the current search, from 1; 0 if there is none.
func ResolveTry(job *v1alpha1.TrainingJob) int32 {
	if d := job.Status.Drain; d != nil && d.Resolve != nil {
		return d.Resolve.Try
	}
	return 0
}

// Resolver returns the pod that searches the job's volume for the resume point between two attempts. It is no
// part of the gang. The cluster's default scheduler places it where the job's pods can run. It has the job's
// user, but not its rights, token, priority or GPUs, and mounts the volume read-only. It fails if
// spec.checkpoint.uri or resumeFrom is invalid.
//
// A search must never preempt a gang, so it does not have the job's PriorityClass. If it does not start
// before its deadline, the job continues from the last reported checkpoint.
func Resolver(job *v1alpha1.TrainingJob, agent Agent) (*corev1.Pod, error) {
	base, err := spec.CheckpointURI(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	dir, err := spec.CheckpointBase(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	selection, err := spec.Selection(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint to look for: %w", err)
	}
	roles := spec.Roles(job)
	reporter, _ := spec.Reporter(roles)
	template := roleTemplate(job, roleOf(roles, reporter)).Spec // it mounts the volume
	trainer := spec.Framework(job).Trainer(&template)
	mount := checkpointsMount(job)
	mount.ReadOnly = true
	attempt, try := strconv.Itoa(int(job.Status.Attempt)), strconv.Itoa(int(ResolveTry(job)))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.ResolverName(job.Name), Namespace: job.Namespace,
			OwnerReferences: []metav1.OwnerReference{Owner(job)},
			Labels: map[string]string{
				v1alpha1.LabelJobName: job.Name, v1alpha1.LabelComponent: v1alpha1.ComponentResolver,
				v1alpha1.LabelAttempt: attempt, v1alpha1.LabelTry: try,
			},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:        new(resolverSeconds),
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			Containers: []corev1.Container{{
				Name: agentContainer, Image: agent.Image,
				Args: append([]string{
					"resolve", "--volume=" + dir + "=" + base.String(), "--attempt=" + attempt,
					"--job-uid=" + string(job.UID),
				}, selection.Args()...),
				Resources:                resolverResources(),
				VolumeMounts:             []corev1.VolumeMount{mount},
				SecurityContext:          agentSecurityContext(trainer.SecurityContext, template.SecurityContext),
				TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			}},
			Volumes:            []corev1.Volume{claimVolume(job)},
			ServiceAccountName: template.ServiceAccountName,
			SecurityContext:    resolverPodContext(template.SecurityContext),
			ImagePullSecrets:   template.ImagePullSecrets,
			NodeSelector:       template.NodeSelector,
			Tolerations:        template.Tolerations,
			PriorityClassName:  agent.SearchPriorityClass,
		},
	}
	if a := template.Affinity; a != nil && a.NodeAffinity != nil { // the other ranks are deleted
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: a.NodeAffinity}
	}
	return pod, nil
}

// resolverSeconds bounds a search if the operator is down, in seconds. It is longer than the deadline of a
// search (package decision).
const resolverSeconds int64 = 900

// resolverResources returns requests and limits, for namespaces whose quota requires both. The process that
// reads the volume can take 160 MiB before the agent stops it (see pkg/agent).
func resolverResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("256Mi"),
		},
	}
}
