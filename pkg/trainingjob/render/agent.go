package render

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Agent configures the program that runs the trainer in each pod (pkg/agent).
type Agent struct {
	// Image whose entrypoint is the agent; empty: no job with checkpoints can start.
	Image string
	// ReportURL that rank 0 posts its reports to; empty: there is no report server, and the operator reads
	// only termination messages.
	ReportURL string
	// ReportCA holds the certificates, in PEM, of the authorities that may sign the report server's
	// certificate.
	ReportCA string
	// Audience of the token that a report carries.
	Audience string
	// Kubeflow: the agent of rank 0 receives progress by the protocol of Kubeflow Trainer.
	Kubeflow bool
	// Liveness mode of jobs with spec.checkpoint that name none, and the highest that any job may have.
	Liveness, MaxLiveness v1alpha1.LivenessMode
	// SearchPriorityClass of the pod that searches a volume; empty: none.
	SearchPriorityClass string
}

const (
	agentContainer    = spec.ReservedName + "agent"
	agentVolume       = spec.ReservedName + "agent"
	agentDir          = spec.ReservedDir + "/bin"
	statusVolume      = spec.ReservedName + "status"
	statusDir         = spec.ReservedDir + "/status"
	tokenVolume       = spec.ReservedName + "token"
	tokenDir          = spec.ReservedDir + "/token"
	checkpointsVolume = spec.ReservedName + "checkpoints"
)

// agentGraceSeconds is how much longer than the trainer's the pod's grace must be: the agent scans the volume
// once more, reports once more, and writes its termination message (at most about 7 s together, see
// pkg/agent).
const agentGraceSeconds = 10

// tokenSeconds is the validity of a report's token, which the kubelet renews. The API server's minimum is
// 600.
const tokenSeconds int64 = 3600

// agentRank returns the number of a rank's agent. Number 0 reports for the gang.
func agentRank(roles []spec.Role, ref spec.RankRef, number int32) int32 {
	if reporter, _ := spec.Reporter(roles); ref == reporter {
		return 0
	}
	return max(1, number)
}

// wrap makes the agent run the trainer of a rank that has checkpoints or sends beats. number is its
// agentRank.
func wrap(job *v1alpha1.TrainingJob, pod *corev1.Pod, attempt, number int32, agent Agent) error {
	trainer := spec.Framework(job).Trainer(&pod.Spec)
	env, grace, err := contract(job, pod, attempt)
	if err != nil {
		return err
	}
	asks := agent.ReportURL != "" && spec.AsksToResume(job)
	beats := sendsBeats(job, agent)
	trainer.Command = slices.Concat(agentCommand(job, trainer, number, asks), trainer.Command)
	mountCheckpoints(job, &pod.Spec, trainer)
	if agent.ReportURL != "" && (number == 0 || asks || beats) { // rank 0 reports for the gang
		env = append(env, reportEnv(agent)...)
		mountToken(&pod.Spec, trainer, agent)
	}
	if agent.Kubeflow && number == 0 && !spec.NeedsSSH(job) { // mpirun passes no variables on to other nodes
		env = append(env, corev1.EnvVar{Name: checkpoint.EnvKubeflow, Value: "true"})
	}
	if beats {
		env = append(env, beatEnv)
	}
	if spec.IsRehearsal(job) {
		env = append(env, corev1.EnvVar{Name: checkpoint.EnvRehearsal, Value: "1"})
	}
	trainer.Env = withEnv(slices.DeleteFunc(trainer.Env, isContractEnv), env)
	if g := pod.Spec.TerminationGracePeriodSeconds; g == nil || *g < grace+agentGraceSeconds {
		pod.Spec.TerminationGracePeriodSeconds = new(grace + agentGraceSeconds)
	}
	return nil
}

// install puts the agent's binary into the pod and into the trainer's container.
func install(job *v1alpha1.TrainingJob, pod *corev1.Pod, agent Agent) {
	trainer := spec.Framework(job).Trainer(&pod.Spec)
	trainer.VolumeMounts = append(trainer.VolumeMounts,
		corev1.VolumeMount{Name: agentVolume, MountPath: agentDir, ReadOnly: true},
		corev1.VolumeMount{Name: statusVolume, MountPath: statusDir})
	pod.Spec.Volumes = append(pod.Spec.Volumes, emptyDir(agentVolume), emptyDir(statusVolume))
	init := installer(trainer, pod.Spec.SecurityContext, agent)
	pod.Spec.InitContainers = slices.Concat([]corev1.Container{init}, pod.Spec.InitContainers)
}

func isContractEnv(e corev1.EnvVar) bool { return slices.Contains(spec.ContractEnv, e.Name) }

// agentCommand returns the command before the trainer's own.
func agentCommand(
	job *v1alpha1.TrainingJob, trainer *corev1.Container, number int32, asks bool,
) []string {
	c := spec.Checkpoints(job)
	run := []string{agentDir + "/agent", "run", "--rank=" + strconv.Itoa(int(number))}
	if asks {
		run = append(run, "--ask-resume")
	}
	if c != nil && c.KeepLast != nil {
		run = append(run, "--retain")
	}
	if spec.IsRehearsal(job) { // a variable could come from a ConfigMap
		run = append(run, "--rehearsal")
	}
	if c == nil { // the trainer can have such variables of its own, from a ConfigMap
		run = append(run, "--dir=", "--uri=")
	}
	if p := trainer.TerminationMessagePath; p != "" {
		run = append(run, "--termination-log="+p)
	}
	return append(run, "--")
}

// mountCheckpoints mounts the volume of the checkpoints, if any, into the trainer.
func mountCheckpoints(job *v1alpha1.TrainingJob, pod *corev1.PodSpec, trainer *corev1.Container) {
	c := spec.Checkpoints(job)
	if c == nil {
		return
	}
	if spec.OnVolume(c) {
		trainer.VolumeMounts = append(trainer.VolumeMounts, checkpointsMount(job))
		pod.Volumes = append(pod.Volumes, claimVolume(job))
	} else if c.CredentialsSecretRef != nil {
		trainer.EnvFrom = append(trainer.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: c.CredentialsSecretRef.Name},
		}})
	}
}

// mountToken mounts the token for reports into the trainer.
func mountToken(pod *corev1.PodSpec, trainer *corev1.Container, agent Agent) {
	trainer.VolumeMounts = append(trainer.VolumeMounts,
		corev1.VolumeMount{Name: tokenVolume, MountPath: tokenDir, ReadOnly: true})
	pod.Volumes = append(pod.Volumes, tokenSource(agent))
	if pod.ServiceAccountName == "" { // the token needs one, and no admission plugin may set it here
		pod.ServiceAccountName = "default"
	}
}

// installer copies the agent into the pod before the trainer starts. It has the trainer's user and none of
// its rights, and the trainer's requests of ordinary resources, so that neither what the gang requests nor
// the pod's quality of service changes.
func installer(
	trainer *corev1.Container, podContext *corev1.PodSecurityContext, agent Agent,
) corev1.Container {
	return corev1.Container{
		Name: agentContainer, Image: agent.Image, Args: []string{"install", agentDir},
		Resources: corev1.ResourceRequirements{
			Requests: ordinary(trainer.Resources.Requests), Limits: ordinary(trainer.Resources.Limits),
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: agentVolume, MountPath: agentDir}, noToken(statusVolume),
		},
		SecurityContext:          agentSecurityContext(trainer.SecurityContext, podContext),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// ordinary returns the resources of a list that every node has.
func ordinary(list corev1.ResourceList) corev1.ResourceList {
	var out corev1.ResourceList
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	} {
		if q, ok := list[name]; ok {
			if out == nil {
				out = corev1.ResourceList{}
			}
			out[name] = q
		}
	}
	return out
}

// checkpointEnv is the environment of docs/checkpoints.md, the same in every rank of an attempt, except for
// the resume point under restart scope Rank.
func checkpointEnv(job *v1alpha1.TrainingJob, attempt int32) ([]corev1.EnvVar, error) {
	c := spec.Checkpoints(job)
	dir, err := spec.CheckpointDir(job, attempt)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	base, err := spec.CheckpointBase(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	uri, err := spec.CheckpointURI(job)
	if err != nil {
		return nil, fmt.Errorf("naming the checkpoint directory: %w", err)
	}
	resume, err := spec.ResumePath(job)
	if err != nil {
		return nil, fmt.Errorf("naming the resume point: %w", err)
	}
	number := func(n *int32, def int32) string { return strconv.Itoa(int(spec.OrDefault(n, def))) }
	return []corev1.EnvVar{
		{Name: checkpoint.EnvAttempt, Value: strconv.Itoa(int(attempt))},
		{Name: checkpoint.EnvDir, Value: dir},
		{Name: checkpoint.EnvBase, Value: base},
		{Name: checkpoint.EnvInterval, Value: number(c.Interval, spec.DefaultCheckpointInterval)},
		{Name: checkpoint.EnvKeepLast, Value: number(c.KeepLast, spec.DefaultKeepLast)},
		{Name: checkpoint.EnvResume, Value: resume},
		{Name: checkpoint.EnvStatusFile, Value: statusDir + "/status.json"},
		{Name: checkpoint.EnvCommandFile, Value: statusDir + "/command.json"},
		{Name: checkpoint.EnvSettingsFile, Value: statusDir + "/settings.json"},
		{Name: checkpoint.EnvGrace, Value: number(c.GraceSeconds, spec.DefaultGraceSeconds)},
		{Name: checkpoint.EnvJobUID, Value: string(job.UID)},
		{Name: checkpoint.EnvURI, Value: uri.String()},
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

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{
		Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	}
}

// checkpointsMount is the same in the trainer, whose container the agent shares, and in the resolver.
func checkpointsMount(job *v1alpha1.TrainingJob) corev1.VolumeMount {
	return corev1.VolumeMount{
		Name: checkpointsVolume, MountPath: spec.MountPath(job.Spec.Checkpoint), SubPath: spec.SubPath(job),
	}
}

func claimVolume(job *v1alpha1.TrainingJob) corev1.Volume {
	return corev1.Volume{Name: checkpointsVolume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: spec.ClaimName(job)},
	}}
}

func tokenSource(agent Agent) corev1.Volume {
	seconds := tokenSeconds
	return corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: agent.Audience, ExpirationSeconds: &seconds, Path: "token",
			},
		}}},
	}}
}
