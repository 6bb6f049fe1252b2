package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/rendezvous"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// portNames under which a template's container may name the rendezvous port; the second is Kubeflow's.
var portNames = []string{"rendezvous", "pytorchjob-port"}

// rendezvousEnv is what the framework gives a rank so that it finds the others.
func rendezvousEnv(
	job *v1alpha1.TrainingJob, roles []spec.Role, pod *corev1.PodSpec, ref spec.RankRef, number int32,
) []corev1.EnvVar {
	trainer := spec.Trainer(job.Spec.Framework, pod)
	limits := trainer.Resources.Limits
	if len(limits) == 0 {
		limits = trainer.Resources.Requests
	}
	r := rendezvous.Rank{
		Role: spec.RoleKey(ref.Role), Index: ref.Index,
		Rank: number, World: spec.RanksOf(roles),
		Leader: spec.RankHost(job.Name, spec.Leader(roles)), Port: rendezvousPort(job, roles),
		GPUs: spec.GPUs(limits),
	}
	if job.Spec.Framework == v1alpha1.FrameworkPyTorch {
		return rendezvous.PyTorch(r)
	}
	return rendezvous.Custom(r)
}

// rendezvousPort is the port that the leader's trainer names, else the framework's default.
func rendezvousPort(job *v1alpha1.TrainingJob, roles []spec.Role) int32 {
	for _, port := range spec.Trainer(job.Spec.Framework, &roles[0].Template.Spec).Ports {
		for _, name := range portNames {
			if port.Name == name {
				return port.ContainerPort
			}
		}
	}
	return rendezvous.Port
}

// Service is the one headless Service of a job. It gives host names to all ranks, also to those that are not ready,
// since they become ready only after they have met.
func Service(job *v1alpha1.TrainingJob) *corev1.Service {
	port := rendezvousPort(job, spec.Roles(job))
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
				// The target port is the API server's default. It is given because what is applied is compared.
				Name: "rendezvous", Port: port, TargetPort: intstr.FromInt32(port),
			}},
		},
	}
}
