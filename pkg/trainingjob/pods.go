package trainingjob

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rendezvous"
)

// portNames under which a template's container may name the rendezvous port; the second is Kubeflow's.
var portNames = []string{"rendezvous", "pytorchjob-port"}

// RenderPod is the whole pod of a rank of an attempt, as it is before it joins a scheduler's group. Ranks that the
// scheduler did not admit (see scheduler.Verdict) are no part of the world that it meets. The agent and the hyperparameters are
// no part of the role's template, which schedulers compare over attempts: they change nothing of what a rank asks for.
func RenderPod(job *v1alpha1.TrainingJob, ref RankRef, attempt int32, admitted map[string]int32, agent Agent) (*corev1.Pod, error) {
	roles := admittedRoles(Roles(job), admitted)
	var role Role
	var before int32
	for _, role = range roles {
		if role.Name == ref.Role {
			break
		}
		before += role.Replicas
	}
	template := renderTemplate(job, role)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = PodName(job.Name, ref), job.Namespace
	pod.OwnerReferences = []metav1.OwnerReference{Owner(job)}
	maps.Copy(pod.Labels, PodLabels(job, ref, attempt))
	delete(pod.Labels, v1alpha1.LabelComponent) // it says that a pod is no rank

	// Stable host names: <pod>.<service>, also before a rank is ready (see RenderService).
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, ServiceName(job.Name)
	env := append(rendezvousEnv(job, roles, &pod.Spec, ref, before+ref.Index),
		corev1.EnvVar{Name: checkpoint.EnvAttempt, Value: strconv.Itoa(int(attempt))})
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Env = withEnv(pod.Spec.Containers[i].Env, env)
	}
	addHyperparameters(job, pod)
	if Checkpoints(job) != nil {
		if err := wrap(job, pod, attempt, before+ref.Index, agent); err != nil {
			return nil, err
		}
	}
	return pod, nil
}

// renderTemplate is what the pods of a role have in common in all attempts.
func renderTemplate(job *v1alpha1.TrainingJob, role Role) *corev1.PodTemplateSpec {
	user := role.Template.DeepCopy()
	// Of the metadata, labels and annotations alone are the template's.
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: user.Labels, Annotations: user.Annotations}, Spec: user.Spec,
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	// A queue label would make Kueue's pod integration queue the rank as a job of its own.
	delete(template.Labels, v1alpha1.LabelKueueQueue)
	template.Spec.RestartPolicy = kubeletPolicy(Scope(job), role.RestartPolicy)
	if class := job.Spec.RunPolicy.SchedulingPolicy.PriorityClass; class != "" {
		template.Spec.PriorityClassName = class
	}
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			finishContainer(&containers[i])
		}
	}
	return template
}

// kubeletPolicy: under scope Gang the operator alone restarts, so that no rank comes back into a gang that is gone.
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

func rendezvousEnv(job *v1alpha1.TrainingJob, roles []Role, spec *corev1.PodSpec, ref RankRef, number int32) []corev1.EnvVar {
	trainer := trainerOf(spec)
	r := rendezvous.Rank{
		Role: strings.ToLower(string(ref.Role)), Index: ref.Index,
		Rank: number, World: ranksOf(roles),
		Leader: RankHost(job.Name, leader(roles)), Port: rendezvousPort(roles),
	}
	limits := trainer.Resources.Limits
	if len(limits) == 0 {
		limits = trainer.Resources.Requests
	}
	for name, q := range limits {
		if strings.HasSuffix(string(name), "/gpu") {
			r.GPUs += q.Value()
		}
	}
	if job.Spec.Framework == v1alpha1.FrameworkPyTorch {
		return rendezvous.PyTorch(r)
	}
	return rendezvous.Custom(r)
}

// rendezvousPort is the one that the leader's trainer names, else the default.
func rendezvousPort(roles []Role) int32 {
	spec := &roles[0].Template.Spec
	for _, port := range trainerOf(spec).Ports {
		for _, name := range portNames {
			if port.Name == name {
				return port.ContainerPort
			}
		}
	}
	return rendezvous.Port
}

// withEnv puts ours first, since the user's may refer to them as $(RANK); what the user sets stays.
func withEnv(own, ours []corev1.EnvVar) []corev1.EnvVar {
	set := make(map[string]struct{}, len(own))
	for _, e := range own {
		set[e.Name] = struct{}{}
	}
	var env []corev1.EnvVar
	for _, e := range ours {
		if _, is := set[e.Name]; !is {
			env = append(env, e)
		}
	}
	return append(env, own...)
}

// finishContainer adds what every container of a rank has; what the user set stays.
func finishContainer(c *corev1.Container) {
	if c.TerminationMessagePolicy == "" {
		// The tail of the log becomes status.lastFailure.message, which outlives the pod.
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	for name, q := range c.Resources.Requests {
		if !extended(name) {
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

// extended resources cannot be overcommitted: the API server demands limits equal to requests
// (k8s.io/kubernetes/pkg/apis/core/v1/helper, IsExtendedResourceName).
func extended(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && !strings.Contains(s, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
}

// RenderService is the one headless Service of a job: it gives the ranks host names, also to those that are not ready, since
// they become ready only after they have met.
func RenderService(job *v1alpha1.TrainingJob) *corev1.Service {
	port := rendezvousPort(Roles(job))
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: ServiceName(job.Name), Namespace: job.Namespace,
			Labels:          map[string]string{v1alpha1.LabelJobName: job.Name},
			OwnerReferences: []metav1.OwnerReference{Owner(job)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 map[string]string{v1alpha1.LabelJobName: job.Name},
			Ports: []corev1.ServicePort{{
				Name: "rendezvous", Port: port, TargetPort: intstr.FromInt32(port), // the API server's default, said
			}},
		},
	}
}
