package simtrainer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// hostPath of every PersistentVolume. No pod mounts one: the checkpoints are in the StateFile.
const hostPath = "/simulated"

// provisioner creates a PersistentVolume for every claim of the class localcluster.StorageClass, and deletes
// it when its claim is gone.
type provisioner struct{ client client.Client }

// setUp adds the provisioner's controllers to the manager, and creates the class when the manager starts.
func (p provisioner) setUp(mgr manager.Manager) error {
	claims, err := controller.New("claims", mgr, controller.Options{
		Reconciler: claimReconciler(p), SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return fmt.Errorf("making the controller of claims: %w", err)
	}
	volumes, err := controller.New("volumes", mgr, controller.Options{
		Reconciler: volumeReconciler(p), SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return fmt.Errorf("making the controller of volumes: %w", err)
	}
	err = claims.Watch(source.Kind[client.Object](
		mgr.GetCache(), &corev1.PersistentVolumeClaim{}, &handler.EnqueueRequestForObject{},
		predicate.NewPredicateFuncs(func(o client.Object) bool {
			claim, ok := o.(*corev1.PersistentVolumeClaim)
			return ok && needsVolume(claim)
		})))
	if err != nil {
		return fmt.Errorf("watching claims: %w", err)
	}
	err = volumes.Watch(source.Kind[client.Object](
		mgr.GetCache(), &corev1.PersistentVolume{}, &handler.EnqueueRequestForObject{},
		predicate.NewPredicateFuncs(func(o client.Object) bool {
			volume, ok := o.(*corev1.PersistentVolume)
			return ok && isReleased(volume)
		})))
	if err != nil {
		return fmt.Errorf("watching volumes: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(p.createClass))
}

// createClass creates the storage class. It is not the default class, so a claim without a class stays
// unbound, as on a cluster without a default class.
func (p provisioner) createClass(ctx context.Context) error {
	err := p.client.Create(ctx, &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: localcluster.StorageClass},
		Provisioner:       localcluster.StorageProvisioner,
		ReclaimPolicy:     ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate),
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating storage class %s: %w", localcluster.StorageClass, err)
	}
	return nil
}

// needsVolume reports whether a claim waits for a volume of the class.
func needsVolume(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName == "" && claim.DeletionTimestamp == nil &&
		ptr.Deref(claim.Spec.StorageClassName, "") == localcluster.StorageClass
}

// isReleased reports whether a volume is the provisioner's and its claim is gone.
func isReleased(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[annotationProvisioner] == localcluster.StorageProvisioner &&
		volume.Status.Phase == corev1.VolumeReleased
}

// annotationProvisioner names who deletes a volume. The cluster's own controllers ignore volumes of other
// provisioners.
const annotationProvisioner = "pv.kubernetes.io/provisioned-by"

// volumeFor is the volume of a claim. Its name is derived from the claim's UID, so that no claim gets two.
func volumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{annotationProvisioner: localcluster.StorageProvisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: localcluster.StorageClass,
			AccessModes:      claim.Spec.AccessModes,
			VolumeMode:       claim.Spec.VolumeMode,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: hostPath},
			},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
}

// claimReconciler creates the volume of a claim; the cluster's own controller binds the two.
type claimReconciler struct{ client client.Client }

// Reconcile creates the volume of one claim, if it needs one.
func (r claimReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.client.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !needsVolume(claim) {
		return ctrl.Result{}, nil
	}
	if err := r.client.Create(ctx, volumeFor(claim)); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, fmt.Errorf("creating the claim's volume: %w", err)
	}
	return ctrl.Result{}, nil
}

// volumeReconciler deletes volumes whose claim is gone.
type volumeReconciler struct{ client client.Client }

// Reconcile deletes one volume, if it is released.
func (r volumeReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	volume := &corev1.PersistentVolume{}
	if err := r.client.Get(ctx, req.NamespacedName, volume); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !isReleased(volume) {
		return ctrl.Result{}, nil
	}
	err := r.client.Delete(ctx, volume, client.Preconditions{UID: &volume.UID})
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("deleting a volume without claim: %w", err)
	}
	return ctrl.Result{}, nil
}
