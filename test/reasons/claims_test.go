//go:build cluster

package reasons

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestClaimBoundLate: Volcano counts a volume of a CSI driver for a claim that was not bound when it saw the
// ranks, no node has such a driver, and it looks again only at a rank that changes. The operator changes the
// ranks once the claim is bound.
func TestClaimBoundLate(t *testing.T) {
	t.Parallel()
	p := newFixture(t, onVolcano, 1)
	p.waitForClaim()
	p.bindClaim()
	p.Reaches("bert", v1alpha1.PhaseRunning)
	pods := &corev1.PodList{}
	if err := p.Client.List(t.Context(), pods, client.InNamespace(p.Name)); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Annotations[v1alpha1.AnnotationWoken] == "" {
			t.Errorf("%s was not changed, and Volcano looked at it again: what is this for?", pod.Name)
		}
	}
}

// waitForClaim makes a job wait for a claim whose storage class names a provisioner that does not run.
func (p *fixture) waitForClaim() {
	p.T.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Provisioner: p.Name + ".example.com",
	}
	p.Create(class)
	p.T.Cleanup(func() {
		if err := p.Client.Delete(context.Background(), class); err != nil {
			p.T.Error(err)
		}
	})
	p.Create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class.Name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: gibibyte()},
		},
	})
	p.Job("bert", 2, "1", withClaim)
	p.Says("bert", v1alpha1.ReasonVolumeUnbound)
}

// bindClaim provides the volume, waits until the claim has it, and makes the operator look.
func (p *fixture) bindClaim() {
	p.T.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: gibibyte(), StorageClassName: p.Name,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			ClaimRef:    &corev1.ObjectReference{Namespace: p.Name, Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/data"},
			},
		},
	}
	p.Create(volume)
	p.T.Cleanup(func() {
		if err := p.Client.Delete(context.Background(), volume); err != nil {
			p.T.Error(err)
		}
	})
	p.Until("the claim is bound", func(ctx context.Context) (string, error) {
		claim := &corev1.PersistentVolumeClaim{}
		err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Name, Name: "data"}, claim)
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			return fmt.Sprintf("it is %s", claim.Status.Phase), nil
		}
		return "", err
	})
	p.lookAgain("bert")
}

func gibibyte() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
}
