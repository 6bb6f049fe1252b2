package stack

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	busv1alpha1 "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// VolcanoJob runs gangs as Jobs of Volcano.
type VolcanoJob struct{ Profile Profile }

// Describe implements Renderer.
func (s VolcanoJob) Describe() result.Stack {
	return result.Stack{
		Name: "volcano-job", Title: "Volcano Job", Floor: "raw/volcano",
		Versions: versionsOf(components.Volcano, components.Kubernetes),
		Settings: join(s.Profile.volcanoController(), volcanoScheduler()),
	}
}

// Cluster implements Renderer.
func (s VolcanoJob) Cluster(options *localcluster.Options) {
	options.Schedulers = []string{localcluster.SchedulerVolcano}
	options.Limits = map[string]localcluster.Limits{
		localcluster.ProcessVolcanoController: s.Profile.limits(localcluster.ProcessVolcanoController),
	}
}

// Queue implements Renderer: Volcano has the queue "default".
func (s VolcanoJob) Queue(string, int) []client.Object { return nil }

// Render implements Renderer. The whole gang restarts when a rank fails or is evicted, as in
// docs/user-guide/how_to_use_job_policy.md; the plugins are those of example/job.yaml without ssh, which is
// for MPI. Volcano's webhook is not there: the defaults that it writes are written here.
func (s VolcanoJob) Render(namespace string, g workload.Gang) []client.Object {
	ranks := int32(g.Ranks)
	return []client.Object{&batchv1alpha1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1alpha1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: namespace},
		Spec: batchv1alpha1.JobSpec{
			SchedulerName:     "volcano",
			Queue:             "default",
			MinAvailable:      ranks,
			MaxRetry:          maxRestarts,
			PriorityClassName: PriorityClass(g.Priority),
			Policies: []batchv1alpha1.LifecyclePolicy{{
				Events: []busv1alpha1.Event{busv1alpha1.PodEvictedEvent, busv1alpha1.PodFailedEvent},
				Action: busv1alpha1.RestartJobAction,
			}},
			Plugins: map[string][]string{"env": {}, "svc": {}},
			Tasks: []batchv1alpha1.TaskSpec{{
				Name: "worker", Replicas: ranks, MinAvailable: &ranks, MaxRetry: maxRestarts,
				Template: podTemplate(g, "trainer", corev1.RestartPolicyNever),
			}},
		},
	}}
}

// Admission implements Renderer.
func (s VolcanoJob) Admission() *Admission { return volcanoAdmission() }

// Rank implements Renderer.
func (s VolcanoJob) Rank(pod *corev1.Pod) (int, error) {
	return rankLabel(pod, batchv1alpha1.TaskIndex)
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
