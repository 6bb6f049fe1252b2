package stack

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// Trainer runs gangs as TrainJobs of Kubeflow Trainer, which makes a JobSet and a group of Volcano of each.
type Trainer struct{ VolcanoJob }

// Describe implements Renderer.
func (s Trainer) Describe() result.Stack {
	return result.Stack{
		Name: "trainer/volcano", Title: "Kubeflow TrainJob on Volcano", Floor: "raw/volcano",
		Versions: versionsOf(components.Trainer, components.JobSet, components.Volcano, components.Kubernetes),
		Settings: join(s.Profile.trainer(), s.Profile.jobSet(), volcanoScheduler(), Equal.volcanoController()),
	}
}

// Cluster implements Renderer.
func (s Trainer) Cluster(options *localcluster.Options) {
	options.Schedulers = []string{localcluster.SchedulerVolcano}
	options.Limits = map[string]localcluster.Limits{
		// It only opens the queue here, and is no part of what is compared.
		localcluster.ProcessVolcanoController: Equal.limits(localcluster.ProcessVolcanoController),
	}
	s.Profile.addTrainer(options)
}

// Queue implements Renderer: Volcano has the queue "default".
func (s Trainer) Queue(string, int) []client.Object {
	return trainingRuntimes("volcano", map[string]any{"volcano": map[string]any{}})
}

// Render implements Renderer.
func (s Trainer) Render(namespace string, g workload.Gang) []client.Object {
	return []client.Object{trainJob(namespace, g, nil)}
}

// Rank implements Renderer.
func (s Trainer) Rank(pod *corev1.Pod) (int, error) { return KueueJob{}.Rank(pod) }

// KueueTrainer runs gangs as TrainJobs, admitted by Kueue and bound pod by pod by kube-scheduler.
type KueueTrainer struct{ KueueJob }

// Describe implements Renderer.
func (s KueueTrainer) Describe() result.Stack {
	return result.Stack{
		Name: "kueue-trainer", Title: "Kueue and Kubeflow TrainJob", Floor: "raw/kueue",
		Versions: versionsOf(components.Kueue, components.Trainer, components.JobSet, components.Kubernetes),
		Settings: join(s.Profile.kueue(), s.Profile.trainer(), s.Profile.jobSet(), kubernetesPrograms()),
	}
}

// Cluster implements Renderer.
func (s KueueTrainer) Cluster(options *localcluster.Options) {
	s.KueueJob.Cluster(options)
	s.Profile.addTrainer(options)
}

// Queue implements Renderer.
func (s KueueTrainer) Queue(namespace string, gpus int) []client.Object {
	return append(s.KueueJob.Queue(namespace, gpus), trainingRuntimes("", nil)...)
}

// Render implements Renderer.
func (s KueueTrainer) Render(namespace string, g workload.Gang) []client.Object {
	return []client.Object{trainJob(namespace, g, map[string]any{labelQueue: queueName})}
}

// addTrainer runs Trainer, with JobSet, which it needs.
func (p Profile) addTrainer(options *localcluster.Options) {
	options.AddOns = []string{localcluster.AddOnJobSet, localcluster.AddOnTrainer}
	for _, program := range []string{localcluster.ProcessJobSet, localcluster.ProcessTrainer} {
		options.Limits[program] = p.limits(program)
	}
}

// trainingRuntimes are one for each priority, since a TrainJob cannot name one. All other settings are those
// of the runtime torch-distributed of Trainer's release, except that the failure of one rank restarts the
// whole set: see KueueJobSet.
func trainingRuntimes(scheduler string, podGroupPolicy map[string]any) []client.Object {
	var runtimes []client.Object
	for _, class := range PriorityClasses() {
		pod := map[string]any{
			"restartPolicy":     string(corev1.RestartPolicyNever),
			"priorityClassName": class.Name,
			"containers": []any{map[string]any{
				"name": "node", "image": "trainer", "command": []any{"train"},
			}},
		}
		spec := map[string]any{
			"mlPolicy": map[string]any{"numNodes": int64(1), "torch": map[string]any{}},
			"template": map[string]any{"spec": map[string]any{
				"failurePolicy": map[string]any{"maxRestarts": int64(maxRestarts)},
				"replicatedJobs": []any{map[string]any{
					"name": "node",
					"template": map[string]any{
						"metadata": map[string]any{"labels": map[string]any{
							"trainer.kubeflow.org/trainjob-ancestor-step": "trainer",
						}},
						"spec": map[string]any{"backoffLimit": int64(0), "template": map[string]any{"spec": pod}},
					},
				}},
			}},
		}
		if scheduler != "" {
			pod["schedulerName"], spec["podGroupPolicy"] = scheduler, podGroupPolicy
		}
		runtimes = append(runtimes, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "trainer.kubeflow.org/v1alpha1",
			"kind":       "ClusterTrainingRuntime",
			"metadata":   map[string]any{"name": class.Name},
			"spec":       spec,
		}})
	}
	return runtimes
}

// trainJob has the gang's label on its pods by a patch of the runtime, the way that Trainer has for it.
func trainJob(namespace string, g workload.Gang, labels map[string]any) client.Object {
	template := podTemplate(g, "node", corev1.RestartPolicyNever)
	metadata := map[string]any{"name": g.Name, "namespace": namespace}
	if labels != nil {
		metadata["labels"] = labels
	}
	pods := map[string]any{"metadata": map[string]any{"labels": map[string]any{measure.LabelGang: g.Name}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "trainer.kubeflow.org/v1alpha1",
		"kind":       "TrainJob",
		"metadata":   metadata,
		"spec": map[string]any{
			"runtimeRef": map[string]any{"name": PriorityClass(g.Priority)},
			"trainer": map[string]any{
				"numNodes":         int64(g.Ranks),
				"resourcesPerNode": content(&template.Spec.Containers[0].Resources),
			},
			"runtimePatches": []any{map[string]any{
				"manager": "bench.example.com/bench",
				"trainingRuntimeSpec": map[string]any{"template": map[string]any{"spec": map[string]any{
					"replicatedJobs": []any{map[string]any{
						"name":     "node",
						"template": map[string]any{"spec": map[string]any{"template": pods}},
					}},
				}}},
			}},
		},
	}}
}
