package render

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// peers returns the gang as its framework needs it.
func peers(job *v1alpha1.TrainingJob, roles []spec.Role, counted framework.GPUs) framework.Gang {
	gang := framework.Gang{Job: job.Name, FilesDir: filesDir, Host: func(role string, index int32) string {
		return spec.RankHost(job.Name, spec.RankRef{Role: v1alpha1.Role(role), Index: index})
	}}
	if spec.Elastic(job) {
		gang.Elastic = &framework.Elastic{
			MinReplicas: job.Spec.ElasticPolicy.MinReplicas, MaxRestarts: spec.BackoffLimit(job),
		}
	}
	if c := spec.Checkpoints(job); c != nil {
		gang.GraceSeconds = spec.OrDefault(c.GraceSeconds, spec.DefaultGraceSeconds)
	}
	f := spec.Framework(job)
	for i := range roles {
		role := &roles[i]
		described := f.DescribeRole(string(role.Name), role.Replicas, &role.Template.Spec, counted)
		described.Port = spec.OrDefault(job.Spec.Networking.MasterPort, described.Port)
		gang.Roles = append(gang.Roles, described)
		if role.Name == v1alpha1.RoleWorker {
			gang.MPI = spec.MPI(job, described.GPUs)
		}
	}
	return gang
}
