package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// roleTemplate returns the part that the pods of a role share in all attempts.
func roleTemplate(job *v1alpha1.TrainingJob, role spec.Role) *corev1.PodTemplateSpec {
	template, _ := templateAndAdded(job, role)
	return template
}

// templateAndAdded also returns the tolerations that the operator's configuration added to the template.
func templateAndAdded(
	job *v1alpha1.TrainingJob, role spec.Role,
) (*corev1.PodTemplateSpec, []corev1.Toleration) {
	user := role.Template.DeepCopy()
	// Pods get only labels and annotations of the template's metadata.
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: user.Labels, Annotations: user.Annotations}, Spec: user.Spec,
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	// A queue label would make Kueue's pod integration queue the rank as a job of its own.
	delete(template.Labels, v1alpha1.LabelKueueQueue)
	template.Spec.RestartPolicy = kubeletPolicy(spec.Scope(job), role.RestartPolicy)
	template.Spec.PriorityClassName = job.Spec.RunPolicy.SchedulingPolicy.PriorityClass
	resolveOnHost(&template.Spec)
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			completeContainer(&containers[i])
		}
	}
	if job.Spec.SecurityProfile == v1alpha1.SecurityNonRoot {
		applyNonRoot(&template.Spec)
	}
	addTopology(job, &template.Spec)
	return template, tolerate(&template.Spec, addedTolerations(job, role.Name))
}

// kubeletPolicy returns Never under scope Gang: only the operator restarts ranks, so that none joins a former
// gang.
func kubeletPolicy(scope v1alpha1.RestartScope, policy v1alpha1.RestartPolicy) corev1.RestartPolicy {
	if scope == v1alpha1.ScopeRank {
		switch policy {
		case v1alpha1.RestartOnFailure:
			return corev1.RestartPolicyOnFailure
		case v1alpha1.RestartAlways:
			return corev1.RestartPolicyAlways
		}
	}
	return corev1.RestartPolicyNever
}

// completeContainer sets the defaults of every container of a rank. It keeps the user's values.
func completeContainer(c *corev1.Container) {
	if c.TerminationMessagePolicy == "" {
		// The tail of the log becomes status.lastFailure.message, which outlives the pod.
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	for name, q := range c.Resources.Requests {
		if !spec.Extended(name) {
			continue
		}
		if c.Resources.Limits == nil {
			c.Resources.Limits = corev1.ResourceList{}
		}
		if _, set := c.Resources.Limits[name]; !set {
			c.Resources.Limits[name] = q
		}
	}
}
