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

// CacheOptions keep a cluster's cache small: jobs without fields that no record has, and of nodes and
// namespaces only a part of their metadata. The cache can have other kinds too. There are no options by
// kind, because with them a cache contacts the cluster when it is created (controller-runtime 0.25,
// defaultOpts): an unavailable cluster would end the server.
func CacheOptions() cache.Options {
	strip := cache.TransformStripManagedFields()
	return cache.Options{DefaultTransform: func(in any) (any, error) {
		if o, ok := in.(*metav1.PartialObjectMetadata); ok {
			return keepSome(o), nil
		}
		return strip(in)
	}}
}

func nodeMetadata() *metav1.PartialObjectMetadata {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	return node
}

// keepSome keeps the labels of a node, which changes every few seconds, its labels rarely, and the times of a
// namespace.
func keepSome(o *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	kept := &metav1.PartialObjectMetadata{
		TypeMeta: o.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
			CreationTimestamp: o.CreationTimestamp, DeletionTimestamp: o.DeletionTimestamp,
		},
	}
	if o.Kind == nodeMetadata().Kind {
		kept.Labels = o.Labels
	}
	return kept
}

// gpuKind returns the GPU product of the job's nodes, else the resource's name.
func (r *Recorder) gpuKind(job *v1alpha1.TrainingJob) string {
	if product := r.product(job); product != "" {
		return product
	}
	return resourceOf(job, r.GPUs)
}

// resourceOf returns the GPU resource of which the job requests most; of equal ones the first by name.
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

// product returns the GPU product in the labels of a job's nodes: the most frequent one, of equal ones the
// first by name. It is empty if no node has the label.
func (r *Recorder) product(job *v1alpha1.TrainingJob) string {
	kind, votes := "", map[string]int{}
	if len(r.GPUKindLabels) == 0 || !r.nodesRead.Load() {
		return kind
	}
	for _, name := range job.Status.AllocatedNodes {
		node := nodeMetadata()
		// From memory: the only error is that the node does not exist.
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
