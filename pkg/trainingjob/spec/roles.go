package spec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// Role is one role of a job with every default filled in.
type Role struct {
	Name     v1alpha1.Role
	Replicas int32
	// MinAvailable of the role's ranks, where the roles have minima of their own (see RoleMinima).
	MinAvailable  int32
	RestartPolicy v1alpha1.RestartPolicy
	Template      corev1.PodTemplateSpec
}

// RoleOrder is the order of ranks: the leader is rank 0, roles that others depend on come before the workers,
// and an evaluator, on which no role depends, comes last. It is also the order in which ranks count towards
// minAvailable. A launcher of MPI that does no work itself comes last (see Roles).
var RoleOrder = []v1alpha1.Role{
	v1alpha1.RoleMaster, v1alpha1.RoleChief, v1alpha1.RoleLauncher,
	v1alpha1.RoleScheduler, v1alpha1.RoleServer, v1alpha1.RolePS,
	v1alpha1.RoleWorker, v1alpha1.RoleEvaluator,
}

// Leads reports whether a rank of the role that exits 0 ends the job with success.
func Leads(r v1alpha1.Role) bool {
	return r == v1alpha1.RoleMaster || r == v1alpha1.RoleChief || r == v1alpha1.RoleLauncher
}

// Roles lists a job's roles in rank order, from either form of the spec. The simple form has one role,
// Worker. Roles that RoleOrder does not know are left out.
func Roles(job *v1alpha1.TrainingJob) []Role {
	if len(job.Spec.ReplicaSpecs) == 0 {
		return []Role{{
			Name:          v1alpha1.RoleWorker,
			Replicas:      Replicas(job.Spec.Replicas),
			RestartPolicy: restartPolicy(job, ""),
			Template:      simpleTemplate(&job.Spec),
		}}
	}
	roles := make([]Role, 0, len(job.Spec.ReplicaSpecs))
	for _, name := range RoleOrder {
		spec, ok := job.Spec.ReplicaSpecs[name]
		if !ok {
			continue
		}
		roles = append(roles, Role{
			Name:          name,
			Replicas:      Replicas(spec.Replicas),
			MinAvailable:  OrDefault(spec.MinAvailable, Replicas(spec.Replicas)),
			RestartPolicy: restartPolicy(job, spec.RestartPolicy),
			Template:      spec.Template,
		})
	}
	return launcherLast(job, roles)
}

// MaxReplicas of one role, as in the CRD's schema: a typing error must not become a million pods.
const MaxReplicas = 10000

// Replicas is the number of ranks of one role, from 0 to MaxReplicas: 1 unless the spec gives another. A
// number beyond those bounds is invalid; the bound protects the operator's memory.
func Replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return min(max(*n, 0), MaxReplicas)
}

// Admitted takes from roles the ranks that the scheduler did not admit: those with the highest indexes. It
// changes roles in place. admitted is keyed by RoleKey; a role that it does not name keeps all of its ranks.
func Admitted(roles []Role, admitted map[string]int32) []Role {
	for i := range roles {
		if n, limited := admitted[RoleKey(roles[i].Name)]; limited {
			roles[i].Replicas = min(roles[i].Replicas, n)
		}
	}
	return roles
}

// Ranks is the number of ranks of a job.
func Ranks(job *v1alpha1.TrainingJob) int32 { return RanksOf(Roles(job)) }

// RanksOf is the number of ranks of roles.
func RanksOf(roles []Role) int32 {
	var n int32
	for _, r := range roles {
		n += r.Replicas
	}
	return n
}

// Decides returns whether a rank must succeed for the job to, by the job's success policy. Where no rank of
// the roles can decide, every rank does. Of Workers whose gang is elastic, Worker 0 decides alone unless the
// policy says AllWorkers: it ends when all that train do (torch/distributed/elastic/agent/server/api.py,
// _exit_barrier, torch 1.13.1), and others may never have had a place.
func Decides(policy v1alpha1.SuccessPolicy, roles []Role, elastic bool) func(RankRef) bool {
	led := slices.ContainsFunc(roles, func(r Role) bool { return Leads(r.Name) })
	working := slices.ContainsFunc(roles, func(r Role) bool { return r.Name == v1alpha1.RoleWorker })
	leader := func(r RankRef) bool { return Leads(r.Role) }
	worker := func(r RankRef) bool { return r.Role == v1alpha1.RoleWorker }
	switch {
	case policy == v1alpha1.SuccessAllWorkers && working:
		return func(r RankRef) bool { return leader(r) || worker(r) }
	case led:
		return leader
	case working && (elastic || policy == v1alpha1.SuccessLeader):
		return func(r RankRef) bool { return worker(r) && r.Index == 0 }
	case working:
		return worker
	}
	return func(RankRef) bool { return true }
}

// Reporter returns the rank that reports for the gang, with its number over all roles: the leader, or else
// Worker 0. Its agent reports, and checks the checkpoints. It is rank 0 unless servers come before the
// Workers, since servers have no steps.
func Reporter(roles []Role) (ref RankRef, number int32) {
	var before int32
	for _, r := range roles {
		if Leads(r.Name) || r.Name == v1alpha1.RoleWorker {
			return RankRef{Role: r.Name}, before
		}
		before += r.Replicas
	}
	return RankRef{Role: roles[0].Name}, 0
}

func simpleTemplate(s *v1alpha1.TrainingJobSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:         framework.TrainerContainer,
			Image:        s.Image,
			Command:      s.Command,
			Args:         s.Args,
			Env:          s.Env,
			EnvFrom:      s.EnvFrom,
			Resources:    s.Resources,
			VolumeMounts: s.VolumeMounts,
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
