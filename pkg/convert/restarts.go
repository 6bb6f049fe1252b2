package convert

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// defaultBackoffLimit is written where another system restarts without end.
const defaultBackoffLimit = 3

// settleRestarts gives all roles one restart policy, since a gang restarts as one: the leader's, else that of
// the Workers. Where a role has Always, or where single ranks restart already, each keeps its own. at is the
// path of a role's policy in the document.
func (c *conversion) settleRestarts(job *v1alpha1.TrainingJob, at func(v1alpha1.Role) *field.Path) {
	roles := job.Spec.ReplicaSpecs
	names := slices.DeleteFunc(slices.Clone(spec.RoleOrder), func(name v1alpha1.Role) bool {
		_, has := roles[name]
		return !has
	})
	for _, name := range names {
		if roles[name].RestartPolicy == v1alpha1.RestartAlways {
			job.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		}
	}
	if len(names) == 0 || spec.Scope(job) == v1alpha1.ScopeRank {
		return
	}
	decides := names[0]
	if _, has := roles[v1alpha1.RoleWorker]; has && !spec.Leads(decides) {
		decides = v1alpha1.RoleWorker
	}
	policy := roles[decides].RestartPolicy
	for _, name := range names {
		role := roles[name]
		if role.RestartPolicy == policy {
			continue
		}
		c.warn(at(name), "%s differs from the %s's %s, but a gang restarts as one: %s is written",
			role.RestartPolicy, decides, policy, policy)
		role.RestartPolicy = policy
		roles[name] = role
	}
}

// limitRestarts writes a limit where another system has none. Policies that never restart need none.
func (c *conversion) limitRestarts(job *v1alpha1.TrainingJob, path *field.Path) {
	if job.Spec.RunPolicy.BackoffLimit != nil {
		return
	}
	for _, role := range job.Spec.ReplicaSpecs {
		if role.RestartPolicy != v1alpha1.RestartNever {
			c.warn(path, "is absent, which means restarts without end; they have no counterpart: %d is written",
				defaultBackoffLimit)
			job.Spec.RunPolicy.BackoffLimit = new(int32(defaultBackoffLimit))
			return
		}
	}
}
