//go:build cluster

package simtrainer_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// binds: claims of the simulated class are bound, others are ignored, and a volume is deleted with its claim.
func (s *suite) binds(t *testing.T) {
	claim := func(name string, class *string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
				},
			},
		}
	}
	none, ours := claim("without-class", nil), claim("simulated", ptr.To(localcluster.StorageClass))
	// The other claim first, so that it would be bound by the time ours is.
	for _, c := range []*corev1.PersistentVolumeClaim{none, ours} {
		if err := s.api.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the claim is bound", func() (bool, string) {
		err := s.api.Get(t.Context(), client.ObjectKeyFromObject(ours), ours)
		return err == nil && ours.Status.Phase == corev1.ClaimBound, fmt.Sprint(ours.Status.Phase, err)
	})
	volumes := &corev1.PersistentVolumeList{}
	if err := s.api.List(t.Context(), volumes); err != nil {
		t.Fatal(err)
	}
	if len(volumes.Items) != 1 || volumes.Items[0].Name != ours.Spec.VolumeName {
		t.Errorf("there are %d volumes; want the claim's, %s", len(volumes.Items), ours.Spec.VolumeName)
	}
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(none), none); err != nil ||
		none.Spec.VolumeName != "" || none.Spec.StorageClassName != nil {
		t.Errorf("a claim without class: %+v, %v", none.Spec, err)
	}
	for _, c := range []*corev1.PersistentVolumeClaim{none, ours} {
		if err := s.api.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the volume is gone", func() (bool, string) {
		err := s.api.List(t.Context(), volumes)
		return err == nil && len(volumes.Items) == 0, fmt.Sprint(len(volumes.Items), err)
	})
}
