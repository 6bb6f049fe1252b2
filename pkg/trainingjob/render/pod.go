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

// Pod returns the complete pod of a rank of an attempt, before it joins a scheduler's group. Its environment
// omits ranks that the scheduler did not admit (see scheduler.Verdict). The agent and the hyperparameters are
// not in the role's template, which schedulers compare across attempts, since they do not change a rank's
// requests. gpus configures the resources that count as GPUs.
//
// It fails if spec.checkpoint.uri or the resume point is no valid URI, if the framework's files are too large
// for this number of ranks, or if the status lacks the key of the ranks.
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
	reserveHostPort(&pod.Spec, spec.Framework(job), self)
	addFrameworkFiles(pod, setup.Files)
	addHyperparameters(job, pod)
	shareMemory(job, pod, self.GPUs)
	addMetrics(job, pod)
	avoidNodes(pod, avoided(&job.Status))
	if spec.NeedsSSH(job) {
		if err := addSSH(job, pod, gang, self); err != nil {
			return nil, err
		}
	}
	wrapped := spec.Checkpoints(job) != nil || sendsBeats(job, agent)
	if wrapped {
		if err := wrap(job, pod, attempt, agentRank(roles, ref, self.Number), agent); err != nil {
			return nil, err
		}
	}
	if wrapped || spec.NeedsSSH(job) {
		install(job, pod, agent)
	}
	return pod, nil
}

// roleOf returns the role of a rank.
func roleOf(roles []spec.Role, ref spec.RankRef) spec.Role {
	return roles[slices.IndexFunc(roles, func(r spec.Role) bool { return r.Name == ref.Role })]
}
