package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// defaultClaimSize is the size of a claim without a size in the spec.
var defaultClaimSize = resource.MustParse("10Gi")

// Claim returns the claim that the operator creates for the job's checkpoints; nil if the user names one, or
// none is needed.
//
// By default it has no owner, so that the deletion of a job does not delete its model. A label names the job.
func Claim(job *v1alpha1.TrainingJob) *corev1.PersistentVolumeClaim {
	c := spec.Checkpoints(job)
	if c == nil || !spec.OnVolume(c) || c.PVC.ClaimName != "" {
		return nil
	}
	mode := c.PVC.AccessMode
	if mode == "" {
		mode = corev1.ReadWriteMany
		if spec.Ranks(job) == 1 {
			mode = corev1.ReadWriteOnce
		}
	}
	size := defaultClaimSize
	if c.PVC.Size != nil {
		size = *c.PVC.Size
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.ClaimName(job), Namespace: job.Namespace,
			Labels: map[string]string{v1alpha1.LabelJobName: job.Name, v1alpha1.LabelJobUID: string(job.UID)},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{mode},
			StorageClassName: c.PVC.StorageClassName,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: size},
			},
		},
	}
	if c.PVC.Retain == v1alpha1.DeleteClaim {
		claim.OwnerReferences = []metav1.OwnerReference{Owner(job)}
	}
	return claim
}
