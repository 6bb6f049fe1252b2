package tfjob

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// delete deletes a job like kubectl without waiting. It needs only the right to delete.
func (h *Handler) delete(k *call) (any, error) {
	name, uid := tfjobadmin.ParseID(k.PathValue("id"))
	options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
	if uid != "" {
		options = append(options, client.Preconditions{UID: &uid})
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: k.partition, Name: name}}
	err := k.client.Delete(k.Context(), job, options...)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err) && uid != "": // another job has the name now
		return nil, k.missing()
	case err != nil:
		return nil, h.refused(k, err, noField)
	}
	return struct{}{}, nil
}
