package stack

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// queueName is that of the ResourceFlavor and of every LocalQueue. A ClusterQueue has the name of its
// namespace, since workloads differ in the size of their clusters.
const queueName = "bench"

// labelQueue names a job's LocalQueue (QueueLabel in pkg/controller/constants/constants.go of v0.19.2).
const labelQueue = "kueue.x-k8s.io/queue-name"

// KueueJob runs gangs as Kubernetes' Jobs, admitted by Kueue and bound pod by pod by kube-scheduler.
type KueueJob struct{ Profile Profile }

// Describe implements Renderer.
func (s KueueJob) Describe() result.Stack {
	return result.Stack{
		Name: "kueue-job", Title: "Kueue and Kubernetes' Job", Floor: "raw/kueue",
		Versions: versionsOf(components.Kueue, components.Kubernetes),
		Settings: join(s.Profile.kueue(), kubernetesPrograms()),
	}
}

// Cluster implements Renderer.
func (s KueueJob) Cluster(options *localcluster.Options) {
	options.Schedulers = []string{localcluster.SchedulerKueue}
	options.Configurations = releasedKueue()
	options.Limits = map[string]localcluster.Limits{
		localcluster.ProcessKueue: s.Profile.limits(localcluster.ProcessKueue),
	}
}

// Queue implements Renderer.
func (s KueueJob) Queue(namespace string, gpus int) []client.Object {
	return kueueQueue(namespace, gpus)
}

// Render implements Renderer.
func (s KueueJob) Render(namespace string, g workload.Gang) []client.Object {
	return []client.Object{&batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name: g.Name, Namespace: namespace, Labels: map[string]string{labelQueue: queueName},
		},
		Spec: indexedJob(g, maxRestarts),
	}}
}

// indexedJob runs all ranks of the gang at once, each with its index.
func indexedJob(g workload.Gang, backoffLimit int32) batchv1.JobSpec {
	return batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion),
		Parallelism:    new(int32(g.Ranks)),
		Completions:    new(int32(g.Ranks)),
		BackoffLimit:   new(backoffLimit),
		Template:       podTemplate(g, "trainer", corev1.RestartPolicyNever),
	}
}

// Admission implements Renderer.
func (s KueueJob) Admission() *Admission { return kueueAdmission() }

// Rank implements Renderer.
func (s KueueJob) Rank(pod *corev1.Pod) (int, error) {
	return rankLabel(pod, batchv1.JobCompletionIndexAnnotation)
}

// kueueAdmission is read from Kueue's Workloads, which the gang's job owns.
func kueueAdmission() *Admission {
	return &Admission{
		Resource: kueuev1beta2.SchemeGroupVersion.WithResource("workloads"),
		Gang:     owner,
		Admitted: func(of *unstructured.Unstructured) bool {
			return conditionTrue(of, kueuev1beta2.WorkloadAdmitted)
		},
		Evicted: func(of *unstructured.Unstructured) bool {
			return conditionTrue(of, kueuev1beta2.WorkloadEvicted)
		},
	}
}

// kueueQueue is one queue with all of the cluster's GPUs, in which a gang of higher priority takes the place
// of lower ones, and the namespace's way to it.
func kueueQueue(namespace string, gpus int) []client.Object {
	meta := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: kueuev1beta2.SchemeGroupVersion.String(), Kind: kind}
	}
	return []client.Object{
		&kueuev1beta2.ResourceFlavor{
			TypeMeta: meta("ResourceFlavor"), ObjectMeta: metav1.ObjectMeta{Name: queueName},
		},
		&kueuev1beta2.ClusterQueue{
			TypeMeta: meta("ClusterQueue"), ObjectMeta: metav1.ObjectMeta{Name: namespace},
			Spec: kueuev1beta2.ClusterQueueSpec{
				NamespaceSelector: &metav1.LabelSelector{}, // all
				Preemption: &kueuev1beta2.ClusterQueuePreemption{
					WithinClusterQueue: kueuev1beta2.PreemptionPolicyLowerPriority,
				},
				ResourceGroups: []kueuev1beta2.ResourceGroup{{
					CoveredResources: []corev1.ResourceName{ResourceGPU},
					Flavors: []kueuev1beta2.FlavorQuotas{{
						Name: queueName,
						Resources: []kueuev1beta2.ResourceQuota{{
							Name: ResourceGPU, NominalQuota: *resource.NewQuantity(int64(gpus), resource.DecimalSI),
						}},
					}},
				}},
			},
		},
		&kueuev1beta2.LocalQueue{
			TypeMeta: meta("LocalQueue"), ObjectMeta: metav1.ObjectMeta{Name: queueName, Namespace: namespace},
			Spec: kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(namespace)},
		},
	}
}
