package recorder

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// CacheOptions keep a cluster's cache small: of jobs without what no record has, of nodes the labels alone.
// The cache may hold other kinds too. There are no options by kind, for which a cache asks the cluster while
// it is made (controller-runtime 0.25, defaultOpts): one that is away would end the server.
func CacheOptions() cache.Options {
	strip := cache.TransformStripManagedFields()
	return cache.Options{DefaultTransform: func(in any) (any, error) {
		if node, ok := in.(*metav1.PartialObjectMetadata); ok && node.Kind == nodeMetadata().Kind {
			return keepLabels(node), nil
		}
		return strip(in)
	}}
}

func nodeMetadata() *metav1.PartialObjectMetadata {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	return node
}

// keepLabels of a node: it changes every few seconds, and its labels hardly ever.
func keepLabels(node *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: node.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels,
		},
	}
}

// gpuKind of a job that requests GPUs: the product that its nodes name, else the resource's name.
func (r *Recorder) gpuKind(job *v1alpha1.TrainingJob) string {
	if product := r.product(job); product != "" {
		return product
	}
	return resourceOf(job, r.GPUs)
}

// resourceOf a job is the resource of which it requests most GPUs; of equally many the first by name.
func resourceOf(job *v1alpha1.TrainingJob, counted framework.GPUs) string {
	templates := []corev1.PodSpec{{Containers: []corev1.Container{{Resources: job.Spec.Resources}}}}
	for _, role := range job.Spec.ReplicaSpecs {
		templates = append(templates, role.Template.Spec)
	}
	kind, most := "", int64(0)
	for i := range templates {
		for name := range scheduler.RequestsOf(&templates[i]) {
			if !counted.Counts(name) {
				continue
			}
			n := render.GPUs(job, framework.GPUs{string(name)})
			if n > most || n == most && string(name) < kind {
				kind, most = string(name), n
			}
		}
	}
	return kind
}

// product is what the labels of the nodes that a job's ranks are on call their GPUs; of several kinds that of
// most nodes, of equally many the first by name. It is empty where no node says.
func (r *Recorder) product(job *v1alpha1.TrainingJob) string {
	kind, votes := "", map[string]int{}
	if len(r.GPUKindLabels) == 0 || !r.nodesRead.Load() {
		return kind
	}
	for _, name := range job.Status.AllocatedNodes {
		node := nodeMetadata()
		// From memory, where the only error is that the node is not there.
		if err := r.Cache.Get(context.Background(), types.NamespacedName{Name: name}, node); err != nil {
			continue
		}
		of := r.labelled(node.Labels)
		if of == "" {
			continue
		}
		votes[of]++
		if votes[of] > votes[kind] || votes[of] == votes[kind] && of < kind {
			kind = of
		}
	}
	return kind
}

func (r *Recorder) labelled(labels map[string]string) string {
	for _, key := range r.GPUKindLabels {
		if product := labels[key]; product != "" {
			return product
		}
	}
	return ""
}
