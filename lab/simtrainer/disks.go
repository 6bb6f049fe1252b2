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

// provisioner of the storage class, as it is named there.
const provisioner = "localcluster.mlplatform.example.com/simulated"

// nowhere is the path of every disk: nobody mounts one, and what trainers save is in the Volume's file.
const nowhere = "/simulated"

// disks gives claims of the class localcluster.StorageClass a PersistentVolume each, and takes it away when its claim is gone.
type disks struct{ client client.Client }

// wire creates the class and says what is looked at when.
func (d disks) wire(mgr manager.Manager) error {
	claims, err := controller.New("claims", mgr, controller.Options{Reconciler: claimReconciler{d}, SkipNameValidation: ptr.To(true)})
	if err != nil {
		return fmt.Errorf("making the controller of claims: %w", err)
	}
	volumes, err := controller.New("volumes", mgr, controller.Options{Reconciler: volumeReconciler{d}, SkipNameValidation: ptr.To(true)})
	if err != nil {
		return fmt.Errorf("making the controller of volumes: %w", err)
	}
	err = claims.Watch(source.Kind[client.Object](mgr.GetCache(), &corev1.PersistentVolumeClaim{}, &handler.EnqueueRequestForObject{},
		predicate.NewPredicateFuncs(func(o client.Object) bool { c, ok := o.(*corev1.PersistentVolumeClaim); return ok && wantsDisk(c) })))
	if err != nil {
		return fmt.Errorf("watching claims: %w", err)
	}
	err = volumes.Watch(source.Kind[client.Object](mgr.GetCache(), &corev1.PersistentVolume{}, &handler.EnqueueRequestForObject{},
		predicate.NewPredicateFuncs(func(o client.Object) bool { v, ok := o.(*corev1.PersistentVolume); return ok && isFree(v) })))
	if err != nil {
		return fmt.Errorf("watching volumes: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(d.createClass))
}

// createClass is no default: a claim without a class stays without a volume, as on a cluster that has none.
func (d disks) createClass(ctx context.Context) error {
	err := d.client.Create(ctx, &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: localcluster.StorageClass},
		Provisioner:       provisioner,
		ReclaimPolicy:     ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate),
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating storage class %s: %w", localcluster.StorageClass, err)
	}
	return nil
}

// wantsDisk says whether a claim waits for a volume of ours.
func wantsDisk(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName == "" && claim.DeletionTimestamp == nil && ptr.Deref(claim.Spec.StorageClassName, "") == localcluster.StorageClass
}

// isFree says whether a volume is ours and its claim is gone.
func isFree(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[annotationProvisioner] == provisioner && volume.Status.Phase == corev1.VolumeReleased
}

// annotationProvisioner says who takes a volume away: the cluster's own controllers leave one of another provisioner alone.
const annotationProvisioner = "pv.kubernetes.io/provisioned-by"

// diskOf a claim. Its name follows from the claim's UID, so that a claim never gets two.
func diskOf(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{annotationProvisioner: provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              localcluster.StorageClass,
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: nowhere}},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
}

// claimReconciler creates the volume of a claim; the cluster's own controller binds the two.
type claimReconciler struct{ disks }

// Reconcile looks at one claim.
func (r claimReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.client.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !wantsDisk(claim) {
		return ctrl.Result{}, nil
	}
	if err := r.client.Create(ctx, diskOf(claim)); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, fmt.Errorf("creating the claim's volume: %w", err)
	}
	return ctrl.Result{}, nil
}

// volumeReconciler deletes what no claim holds any more.
type volumeReconciler struct{ disks }

// Reconcile looks at one volume.
func (r volumeReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	volume := &corev1.PersistentVolume{}
	if err := r.client.Get(ctx, req.NamespacedName, volume); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !isFree(volume) {
		return ctrl.Result{}, nil
	}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, volume, client.Preconditions{UID: &volume.UID})); err != nil {
		return ctrl.Result{}, fmt.Errorf("deleting a volume without claim: %w", err)
	}
	return ctrl.Result{}, nil
}
