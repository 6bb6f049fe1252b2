package render

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Pod is the whole pod of a rank of an attempt, before it joins a scheduler's group. To the rank, ranks that
// the scheduler did not admit (see scheduler.Verdict) do not exist. The agent and the hyperparameters are not
// in the role's template, which schedulers compare over attempts: they change nothing of what a rank
// requests. gpus says what counts as the GPUs of which frameworks are told.
//
// It fails when spec.checkpoint.uri or the pinned resume point is no valid URI, when the framework's files
// for a gang of this size are too large, or when the key that the ranks need is not recorded.
func Pod(
	job *v1alpha1.TrainingJob, ref spec.RankRef, attempt int32, admitted map[string]int32, agent Agent,
	gpus framework.GPUs,
) (*corev1.Pod, error) {
	roles := spec.Admitted(spec.Roles(job), admitted)
	template := roleTemplate(job, roleOf(roles, ref))
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = spec.PodName(job.Name, ref), job.Namespace
	pod.OwnerReferences = []metav1.OwnerReference{Owner(job)}
	maps.Copy(pod.Labels, PodLabels(job, ref, attempt))
	if v := job.Spec.FrameworkVersion; v != "" {
		pod.Labels[v1alpha1.LabelFrameworkVersion] = v
	}
	delete(pod.Labels, v1alpha1.LabelComponent) // it marks pods that are no ranks

	// Stable host names: <pod>.<service>, also before a rank is ready (see Service).
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, spec.ServiceName(job.Name)
	gang := peers(job, roles, gpus)
	self := gang.Rank(string(ref.Role), ref.Index)
	setup, err := spec.Framework(job).Setup(gang, self)
	if err != nil {
		return nil, err
	}
	env := slices.Concat(placeEnv(gang, self), networkEnv(job), setup.Env,
		[]corev1.EnvVar{{Name: checkpoint.EnvAttempt, Value: strconv.Itoa(int(attempt))}})
	for i := range pod.Spec.Containers {
		own := pod.Spec.Containers[i].Env
		pod.Spec.Containers[i].Env = withEnv(own, slices.Concat(env, mlflowEnv(job, own)))
	}
	addFrameworkFiles(pod, setup.Files)
	addHyperparameters(job, pod)
	shareMemory(job, pod, self.GPUs)
	addMetrics(job, pod)
	keepOff(pod, job.Status.Disruptions)
	if spec.NeedsSSH(job) {
		if err := addSSH(job, pod, gang, self); err != nil {
			return nil, err
		}
	}
	if spec.Checkpoints(job) != nil {
		if err := wrap(job, pod, attempt, agentRank(roles, ref, self.Number), agent); err != nil {
			return nil, err
		}
	}
	if spec.NeedsAgent(job) {
		install(job, pod, agent)
	}
	return pod, nil
}

// roleOf finds the role of a rank.
func roleOf(roles []spec.Role, ref spec.RankRef) spec.Role {
	return roles[slices.IndexFunc(roles, func(r spec.Role) bool { return r.Name == ref.Role })]
}
