package stack

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// Labels that Kubeflow's training operator puts on pods (pkg/apis/kubeflow.org/v1/common_types.go of v1.9.3).
const (
	labelReplicaType  = "training.kubeflow.org/replica-type"
	labelReplicaIndex = "training.kubeflow.org/replica-index"
)

// Kubeflow runs gangs as PyTorchJobs of Kubeflow's training operator with Volcano as its gang scheduler: one
// Master, which is rank 0, and the rest Workers.
type Kubeflow struct{ VolcanoJob }

// Describe implements Renderer.
func (s Kubeflow) Describe() result.Stack {
	return result.Stack{
		Name: "kubeflow/volcano", Title: "Kubeflow PyTorchJob on Volcano", Floor: "raw/volcano",
		Versions: versionsOf(components.TrainingOperator, components.Volcano, components.Kubernetes),
		Settings: join(s.Profile.trainingOperator(), volcanoScheduler(), Equal.volcanoController()),
	}
}

// Cluster implements Renderer.
func (s Kubeflow) Cluster(options *localcluster.Options) {
	options.Schedulers = []string{localcluster.SchedulerVolcano}
	options.AddOns = []string{localcluster.AddOnTrainingOperator}
	options.Limits = map[string]localcluster.Limits{
		localcluster.ProcessTrainingOperator: s.Profile.limits(localcluster.ProcessTrainingOperator),
		// It only opens the queue here, and is no part of what is compared.
		localcluster.ProcessVolcanoController: Equal.limits(localcluster.ProcessVolcanoController),
	}
}

// Render implements Renderer. The rest is default: a replica that fails or is deleted is recreated alone,
// without a limit.
func (s Kubeflow) Render(namespace string, g workload.Gang) []client.Object {
	// The operator looks for a container of this name (PyTorchJobDefaultContainerName).
	template := podTemplate(g, "pytorch", "")
	replicas := map[string]any{"Master": replicaSpec(1, template)}
	if g.Ranks > 1 {
		replicas["Worker"] = replicaSpec(g.Ranks-1, template)
	}
	return []client.Object{&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubeflow.org/v1",
		"kind":       "PyTorchJob",
		"metadata":   map[string]any{"name": g.Name, "namespace": namespace},
		"spec": map[string]any{
			"runPolicy": map[string]any{
				"schedulingPolicy": map[string]any{
					"minAvailable":  int64(g.Ranks),
					"priorityClass": PriorityClass(g.Priority),
				},
			},
			"pytorchReplicaSpecs": replicas,
		},
	}}}
}

// replicaSpec is the specification of so many replicas. The restart policy is theirs, not the template's: the
// operator overwrites that with a warning.
func replicaSpec(replicas int, template corev1.PodTemplateSpec) map[string]any {
	return map[string]any{
		"replicas":      int64(replicas),
		"restartPolicy": string(corev1.RestartPolicyOnFailure),
		"template":      content(&template),
	}
}

// Rank implements Renderer.
func (s Kubeflow) Rank(pod *corev1.Pod) (int, error) {
	index, err := rankLabel(pod, labelReplicaIndex)
	if err != nil {
		return 0, err
	}
	switch kind := pod.Labels[labelReplicaType]; kind {
	case "master":
		return index, nil
	case "worker":
		return index + 1, nil
	default:
		return 0, fmt.Errorf("reading the rank of pod %s: its replica type is %q", pod.Name, kind)
	}
}

// volcanoAdmission is read from Volcano's PodGroups: the gang plugin sets the condition once enough ranks of
// the gang have a place (pkg/scheduler/plugins/gang/gang.go of v1.14). The phase says less: with the
// configuration that ships a group is Inqueue at once.
func volcanoAdmission() *Admission {
	return &Admission{
		Resource: schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups"),
		Gang:     owner,
		Admitted: func(group *unstructured.Unstructured) bool {
			return conditionTrue(group, string(schedulingv1beta1.PodGroupScheduled))
		},
	}
}
