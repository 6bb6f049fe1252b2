package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// peers describes the ranks of roles to each other, as their framework sees them.
func peers(job *v1alpha1.TrainingJob, roles []spec.Role, counted framework.GPUs) framework.Gang {
	gang := framework.Gang{Job: job.Name, FilesDir: filesDir, Host: func(role string, index int32) string {
		return spec.RankHost(job.Name, spec.RankRef{Role: v1alpha1.Role(role), Index: index})
	}}
	if spec.Elastic(job) {
		gang.Elastic = &framework.Elastic{
			MinReplicas: job.Spec.ElasticPolicy.MinReplicas, MaxRestarts: spec.BackoffLimit(job),
		}
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

// Service is the one headless Service of a job. It gives host names to all ranks, also to those that are not
// ready, since they become ready only after they have met.
func Service(job *v1alpha1.TrainingJob) *corev1.Service {
	port := peers(job, spec.Roles(job), nil).Leader().Port
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.ServiceName(job.Name), Namespace: job.Namespace,
			Labels:          map[string]string{v1alpha1.LabelJobName: job.Name},
			OwnerReferences: []metav1.OwnerReference{Owner(job)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 map[string]string{v1alpha1.LabelJobName: job.Name},
			Ports: []corev1.ServicePort{{
				// The target port is the API server's default. It is given because what is applied is
				// compared.
				Name: framework.PortName, Port: port, TargetPort: intstr.FromInt32(port),
			}},
		},
	}
}
