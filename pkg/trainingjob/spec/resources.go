package spec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// DefaultSharedMemory is the size of /dev/shm in trainers with GPUs, in bytes: 2Gi.
const DefaultSharedMemory int64 = 2 << 30

// SharedMemory is the size of /dev/shm in a trainer with a number of GPUs; nil: what its runtime gives.
func SharedMemory(job *v1alpha1.TrainingJob, gpus int64) *resource.Quantity {
	switch size := job.Spec.SharedMemory; {
	case size != nil && size.Sign() > 0:
		return new(size.DeepCopy())
	case size == nil && gpus > 0:
		return resource.NewQuantity(DefaultSharedMemory, resource.BinarySI)
	}
	return nil
}

// Extended reports whether a resource cannot be overcommitted, so that the API server demands limits equal to
// requests (k8s.io/kubernetes/pkg/apis/core/v1/helper, IsExtendedResourceName).
func Extended(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") && !strings.Contains(s, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix)
}
