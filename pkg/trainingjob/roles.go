package trainingjob

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Role is one role of a job with every default filled in.
type Role struct {
	Name          v1alpha1.Role
	Replicas      int32
	RestartPolicy v1alpha1.RestartPolicy
	Template      corev1.PodTemplateSpec
}

// roleOrder is the order of ranks: the leader is rank 0; roles that others depend upon come before the workers; an
// evaluator, which nobody waits for, is last. It is also the order in which ranks count towards minAvailable.
var roleOrder = []v1alpha1.Role{
	v1alpha1.RoleMaster, v1alpha1.RoleChief, v1alpha1.RoleLauncher,
	v1alpha1.RoleScheduler, v1alpha1.RoleServer, v1alpha1.RolePS,
	v1alpha1.RoleWorker, v1alpha1.RoleEvaluator,
}

// Leads says whether a role's exit 0 ends the job with success.
func Leads(r v1alpha1.Role) bool {
	return r == v1alpha1.RoleMaster || r == v1alpha1.RoleChief || r == v1alpha1.RoleLauncher
}

// Roles lists a job's roles in rank order, from either form of the spec. The simple form is one role, Worker.
func Roles(job *v1alpha1.TrainingJob) []Role {
	if len(job.Spec.ReplicaSpecs) == 0 {
		return []Role{{
			Name:          v1alpha1.RoleWorker,
			Replicas:      orOne(job.Spec.Replicas),
			RestartPolicy: restartPolicy(job, ""),
			Template:      simpleTemplate(&job.Spec),
		}}
	}
	roles := make([]Role, 0, len(job.Spec.ReplicaSpecs))
	for _, name := range roleOrder {
		spec, ok := job.Spec.ReplicaSpecs[name]
		if !ok {
			continue
		}
		roles = append(roles, Role{
			Name:          name,
			Replicas:      orOne(spec.Replicas),
			RestartPolicy: restartPolicy(job, spec.RestartPolicy),
			Template:      spec.Template,
		})
	}
	return roles
}

// admittedRoles are the roles without the ranks that the scheduler did not let in: those with the highest indexes.
func admittedRoles(roles []Role, admitted map[string]int32) []Role {
	for i := range roles {
		if n, limited := admitted[strings.ToLower(string(roles[i].Name))]; limited {
			roles[i].Replicas = min(roles[i].Replicas, n)
		}
	}
	return roles
}

// Ranks is the number of ranks of a job.
func Ranks(job *v1alpha1.TrainingJob) int32 { return ranksOf(Roles(job)) }

func ranksOf(roles []Role) int32 {
	var n int32
	for _, r := range roles {
		n += r.Replicas
	}
	return n
}

// Scope is what a failure restarts: the gang, unless the job says Rank or its policy is Always, which only the kubelet
// can carry out.
func Scope(job *v1alpha1.TrainingJob) v1alpha1.RestartScope {
	if s := job.Spec.RunPolicy.RestartScope; s != "" {
		return s
	}
	if job.Spec.RestartPolicy == v1alpha1.RestartAlways {
		return v1alpha1.ScopeRank
	}
	for _, spec := range job.Spec.ReplicaSpecs {
		if spec.RestartPolicy == v1alpha1.RestartAlways {
			return v1alpha1.ScopeRank
		}
	}
	return v1alpha1.ScopeGang
}

// BackoffLimit is the number of failures that are answered by a restart.
func BackoffLimit(job *v1alpha1.TrainingJob) int32 {
	if l := job.Spec.BackoffLimit; l != nil {
		return *l
	}
	if l := job.Spec.RunPolicy.BackoffLimit; l != nil {
		return *l
	}
	return 3
}

// MinAvailable is how many ranks start together or not at all.
func MinAvailable(job *v1alpha1.TrainingJob) int32 {
	if m := job.Spec.RunPolicy.SchedulingPolicy.MinAvailable; m != nil {
		return *m
	}
	return Ranks(job)
}

// Queue that the job names: in the spec, else by Kueue's label, else by Volcano's annotation.
func Queue(job *v1alpha1.TrainingJob) string {
	for _, q := range []string{
		job.Spec.RunPolicy.SchedulingPolicy.Queue,
		job.Labels[v1alpha1.LabelKueueQueue],
		job.Annotations[v1alpha1.AnnotationVolcanoQueue],
	} {
		if q != "" {
			return q
		}
	}
	return ""
}

// Suspended says whether the user wants the job to hold nothing.
func Suspended(job *v1alpha1.TrainingJob) bool {
	return job.Spec.RunPolicy.Suspend != nil && *job.Spec.RunPolicy.Suspend
}

func restartPolicy(job *v1alpha1.TrainingJob, own v1alpha1.RestartPolicy) v1alpha1.RestartPolicy {
	switch {
	case own != "":
		return own
	case job.Spec.RestartPolicy != "":
		return job.Spec.RestartPolicy
	}
	return v1alpha1.RestartOnFailure
}

func simpleTemplate(s *v1alpha1.TrainingJobSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: TrainerContainer, Image: s.Image, Command: s.Command, Args: s.Args, Env: s.Env, EnvFrom: s.EnvFrom,
			Resources: s.Resources, VolumeMounts: s.VolumeMounts,
		}},
		Volumes:            s.Volumes,
		NodeSelector:       s.NodeSelector,
		Tolerations:        s.Tolerations,
		Affinity:           s.Affinity,
		ImagePullSecrets:   s.ImagePullSecrets,
		ServiceAccountName: s.ServiceAccountName,
		SecurityContext:    s.SecurityContext,
	}}
}

func orOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// leader is the rank that the others meet at: rank 0.
func leader(roles []Role) RankRef { return RankRef{Role: roles[0].Name} }

func hasLeader(roles []Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return Leads(r.Name) })
}

func hasWorker(roles []Role) bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return r.Name == v1alpha1.RoleWorker })
}
