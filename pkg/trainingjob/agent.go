package trainingjob

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Agent is what the operator's configuration says of the program beside the trainer (cmd/agent).
type Agent struct {
	// Image whose entrypoint is the agent; empty: no job with checkpoints can start.
	Image string
	// ReportURL that rank 0 posts to; empty: nobody listens, and the pods' last words are all that is heard.
	ReportURL string
	// ReportCA are the certificates, in PEM, of those that may sign the server's.
	ReportCA string
	// Audience of the token that a report carries.
	Audience string
}

// Everything that the operator puts into a pod has this beginning, and users' names may not have it.
const (
	ourName = "trainingjob-"
	ourDir  = "/trainingjob"
)

const (
	agentContainer    = ourName + "agent"
	agentVolume       = ourName + "agent"
	agentDir          = ourDir + "/bin"
	statusVolume      = ourName + "status"
	statusDir         = ourDir + "/status"
	tokenVolume       = ourName + "token"
	tokenDir          = ourDir + "/token"
	checkpointsVolume = ourName + "checkpoints"
)

// afterGrace is how much longer the pod's grace must be than the trainer's: the agent looks at the volume once more, reports once
// more, and writes its last word (about 7 s together at most, see cmd/agent).
const afterGrace = 10

// tokenSeconds a report's token is valid; the kubelet renews it. (The API server's least is 600.)
const tokenSeconds int64 = 3600

// contractEnv are the variables of docs/checkpoints.md. They are the same in every rank, so a user cannot set them.
var contractEnv = []string{
	checkpoint.EnvDir, checkpoint.EnvInterval, checkpoint.EnvKeepLast, checkpoint.EnvResume, checkpoint.EnvAttempt, checkpoint.EnvStatusFile,
	checkpoint.EnvCommandFile, checkpoint.EnvGrace, checkpoint.EnvJobUID, checkpoint.EnvURI, checkpoint.EnvReportURL, checkpoint.EnvTokenFile,
	checkpoint.EnvCA,
}

// wrap puts the agent around the trainer of a rank of a job with checkpoints. A valid job has no error.
func wrap(job *v1alpha1.TrainingJob, pod *corev1.Pod, attempt, number int32, agent Agent) error {
	c := Checkpoints(job)
	trainer := trainerOf(&pod.Spec)
	env, err := checkpointEnv(job, attempt)
	if err != nil {
		return err
	}
	run := []string{agentDir + "/agent", "run", "--rank=" + strconv.Itoa(int(number))}
	if c.KeepLast != nil {
		run = append(run, "--retain")
	}
	if p := trainer.TerminationMessagePath; p != "" {
		run = append(run, "--termination-log="+p)
	}
	trainer.Command = slices.Concat(run, []string{"--"}, trainer.Command)
	trainer.VolumeMounts = append(trainer.VolumeMounts,
		corev1.VolumeMount{Name: agentVolume, MountPath: agentDir, ReadOnly: true},
		corev1.VolumeMount{Name: statusVolume, MountPath: statusDir})
	pod.Spec.Volumes = append(pod.Spec.Volumes, emptyDir(agentVolume), emptyDir(statusVolume))
	if onVolume(c) {
		trainer.VolumeMounts = append(trainer.VolumeMounts, corev1.VolumeMount{Name: checkpointsVolume, MountPath: mountPath(c)})
		pod.Spec.Volumes = append(pod.Spec.Volumes, claimVolume(job))
	} else if c.CredentialsSecretRef != nil {
		trainer.EnvFrom = append(trainer.EnvFrom, credentials(c))
	}
	if agent.ReportURL != "" && number == 0 { // rank 0 speaks for all
		env = append(env, reportEnv(agent)...)
		trainer.VolumeMounts = append(trainer.VolumeMounts, corev1.VolumeMount{Name: tokenVolume, MountPath: tokenDir, ReadOnly: true})
		pod.Spec.Volumes = append(pod.Spec.Volumes, tokenSource(agent))
		if pod.Spec.ServiceAccountName == "" { // whose token it is; said, where no admission plugin says it
			pod.Spec.ServiceAccountName = "default"
		}
	}
	trainer.Env = withEnv(slices.DeleteFunc(trainer.Env, func(e corev1.EnvVar) bool { return slices.Contains(contractEnv, e.Name) }), env)
	grace := int64(orDefault(c.GraceSeconds, defaultGrace)) + afterGrace
	if g := pod.Spec.TerminationGracePeriodSeconds; g == nil || *g < grace {
		pod.Spec.TerminationGracePeriodSeconds = &grace
	}
	pod.Spec.InitContainers = slices.Concat([]corev1.Container{installer(trainer, pod.Spec.SecurityContext, agent)}, pod.Spec.InitContainers)
	return nil
}

// installer copies the agent into the pod. It runs before the trainer, with the trainer's security context and no more of the node
// than the trainer has, so that neither what the gang asks for nor the pod's quality of service changes.
func installer(trainer *corev1.Container, podContext *corev1.PodSecurityContext, agent Agent) corev1.Container {
	return corev1.Container{
		Name: agentContainer, Image: agent.Image, Args: []string{"install", agentDir},
		Resources: corev1.ResourceRequirements{
			Requests: ordinary(trainer.Resources.Requests), Limits: ordinary(trainer.Resources.Limits),
		},
		VolumeMounts:             []corev1.VolumeMount{{Name: agentVolume, MountPath: agentDir}},
		SecurityContext:          withUser(trainer.SecurityContext, podContext),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// nobody is the user of the agent's own containers where the job asks for any but root and leaves the choice to the trainer's image.
const nobody int64 = 65532

// withUser is the trainer's security context for a container of the agent's image, which names no user.
func withUser(trainer *corev1.SecurityContext, pod *corev1.PodSecurityContext) *corev1.SecurityContext {
	c := trainer.DeepCopy()
	nonRoot := pod != nil && pod.RunAsNonRoot != nil && *pod.RunAsNonRoot
	user := pod != nil && pod.RunAsUser != nil
	if c != nil {
		if c.RunAsNonRoot != nil {
			nonRoot = *c.RunAsNonRoot
		}
		user = user || c.RunAsUser != nil
	}
	if nonRoot && !user {
		if c == nil {
			c = &corev1.SecurityContext{}
		}
		id := nobody
		c.RunAsUser = &id
	}
	return c
}

// ordinary are the resources of a list that every container has.
func ordinary(list corev1.ResourceList) corev1.ResourceList {
	var out corev1.ResourceList
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, ok := list[name]; ok {
			if out == nil {
				out = corev1.ResourceList{}
			}
			out[name] = q
		}
	}
	return out
}

// checkpointEnv is the contract's environment, the same in every rank of an attempt.
func checkpointEnv(job *v1alpha1.TrainingJob, attempt int32) ([]corev1.EnvVar, error) {
	c := Checkpoints(job)
	dir, err := checkpointDir(job, attempt)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	base, err := CheckpointURI(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	resume, err := resumePath(job)
	if err != nil {
		return nil, fmt.Errorf("naming the resume point: %w", err)
	}
	number := func(n *int32, def int32) string { return strconv.Itoa(int(orDefault(n, def))) }
	return []corev1.EnvVar{
		{Name: checkpoint.EnvAttempt, Value: strconv.Itoa(int(attempt))},
		{Name: checkpoint.EnvDir, Value: dir},
		{Name: checkpoint.EnvInterval, Value: number(c.Interval, defaultInterval)},
		{Name: checkpoint.EnvKeepLast, Value: number(c.KeepLast, defaultKeepLast)},
		{Name: checkpoint.EnvResume, Value: resume},
		{Name: checkpoint.EnvStatusFile, Value: statusDir + "/status.json"},
		{Name: checkpoint.EnvCommandFile, Value: statusDir + "/command.json"},
		{Name: checkpoint.EnvGrace, Value: number(c.GraceSeconds, defaultGrace)},
		{Name: checkpoint.EnvJobUID, Value: string(job.UID)},
		{Name: checkpoint.EnvURI, Value: base.String()},
	}, nil
}

func reportEnv(agent Agent) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: checkpoint.EnvReportURL, Value: literal(agent.ReportURL)},
		{Name: checkpoint.EnvTokenFile, Value: tokenDir + "/token"},
	}
	if agent.ReportCA != "" {
		env = append(env, corev1.EnvVar{Name: checkpoint.EnvCA, Value: agent.ReportCA})
	}
	return env
}

func credentials(c *v1alpha1.CheckpointSpec) corev1.EnvFromSource {
	return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: c.CredentialsSecretRef.Name}}}
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func claimVolume(job *v1alpha1.TrainingJob) corev1.Volume {
	return corev1.Volume{Name: checkpointsVolume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ClaimName(job)},
	}}
}

func tokenSource(agent Agent) corev1.Volume {
	seconds := tokenSeconds
	return corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
			Audience: agent.Audience, ExpirationSeconds: &seconds, Path: "token",
		}}},
	}}}
}

// resolverName is no rank's: a rank's name ends with its index.
func resolverName(job string) string { return job + "-resolve" }

// IsResolver tells the pod that looks for the latest complete checkpoint from the ranks.
func IsResolver(pod *corev1.Pod) bool {
	return pod.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentResolver
}

// RenderResolver is the pod that looks for the latest complete checkpoint on the job's volume between two attempts. It is no rank and
// no part of the gang: the cluster's default scheduler places it where the job's own pods may run, with the job's rights, no GPU,
// and the volume read-only.
func RenderResolver(job *v1alpha1.TrainingJob, agent Agent) (*corev1.Pod, error) {
	base, err := CheckpointURI(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	dir, err := checkpointBase(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	template := renderTemplate(job, Roles(job)[0]).Spec // rank 0's
	trainer := trainerOf(&template)
	attempt, try := strconv.Itoa(int(job.Status.Attempt)), strconv.Itoa(int(resolveTry(job)))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: resolverName(job.Name), Namespace: job.Namespace, OwnerReferences: []metav1.OwnerReference{Owner(job)},
			Labels: map[string]string{
				v1alpha1.LabelJobName: job.Name, v1alpha1.LabelComponent: v1alpha1.ComponentResolver,
				v1alpha1.LabelAttempt: attempt, v1alpha1.LabelTry: try,
			},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: agentContainer, Image: agent.Image,
				Args:                     []string{"resolve", "--volume=" + dir + "=" + base.String(), "--attempt=" + attempt, "--job-uid=" + string(job.UID)},
				Resources:                resolverResources(),
				VolumeMounts:             []corev1.VolumeMount{{Name: checkpointsVolume, MountPath: mountPath(job.Spec.Checkpoint), ReadOnly: true}},
				SecurityContext:          withUser(trainer.SecurityContext, template.SecurityContext),
				TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			}},
			Volumes:            []corev1.Volume{claimVolume(job)},
			ServiceAccountName: template.ServiceAccountName, SecurityContext: template.SecurityContext, ImagePullSecrets: template.ImagePullSecrets,
			NodeSelector: template.NodeSelector, Tolerations: template.Tolerations, PriorityClassName: template.PriorityClassName,
		},
	}
	if a := template.Affinity; a != nil && a.NodeAffinity != nil { // to nodes only: its peers are gone
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: a.NodeAffinity}
	}
	return pod, nil
}

// resolverResources are given in full, for namespaces whose quota asks for that.
func resolverResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("128Mi")},
	}
}
