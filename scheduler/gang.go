package scheduler

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelRole is the pod label by which a rank's role is known: Kubeflow's, whose values are lower case. It equals
// v1alpha1.LabelKubeflowReplicaType, which this leaf package may not import; a test holds the two together.
const LabelRole = "training.kubeflow.org/replica-type"

// RoleOf finds the role of a rendered pod. Dialects that count ranks by role need it in Join, which is given the pod
// alone. False: the pod carries no role of this gang.
func (g Gang) RoleOf(pod *corev1.Pod) (Role, bool) {
	for _, r := range g.Roles {
		if strings.EqualFold(r.Name, pod.Labels[LabelRole]) {
			return r, true
		}
	}
	return Role{}, false
}

// ObjectMeta of an object made for the gang: its namespace, a copy of its labels (callers may add their own) and the job
// as controlling owner.
func (g Gang) ObjectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       g.Namespace,
		Labels:          maps.Clone(g.Labels),
		OwnerReferences: []metav1.OwnerReference{*g.Owner.DeepCopy()},
	}
}

// RolesMatter says whether minAvailable ranks could be chosen so that a role falls short of its own share: a leader and
// three workers with minAvailable 2 could otherwise start as two workers without a leader.
func (g Gang) RolesMatter() bool {
	return len(g.Roles) > 1 && g.MinAvailable < g.Ranks()
}

// JoinPriority gives the pod the gang's priority class if its template names none.
func (g Gang) JoinPriority(pod *corev1.Pod) {
	if pod.Spec.PriorityClassName == "" {
		pod.Spec.PriorityClassName = g.PriorityClass
	}
}
