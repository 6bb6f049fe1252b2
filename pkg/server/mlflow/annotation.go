package mlflow

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// fieldOwner of the annotation.
const fieldOwner = "trainingjob-server-mlflow"

// annotationTries bounds how often a changed job is read again.
const annotationTries = 3

// annotate writes the run to the job's annotation, for later attempts. It keeps an existing annotation, which
// is this run or the user's choice. It does this once per job: a deleted annotation is not restored.
func (e *Exporter) annotate(ctx context.Context, s *sending, d *description, job *history.Job) error {
	if s.Annotated || d.finished() || d.annotated != "" {
		s.Annotated = true
		return nil
	}
	cluster := e.clusters[s.run.Cluster]
	var err error
	for range annotationTries {
		if err = e.annotateOnce(ctx, cluster, s, job); err == nil {
			s.Annotated = true
			return nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
	}
	return &jobError{fmt.Errorf("annotating TrainingJob %s/%s with its run (deploy/server/mlflow.yaml has the "+
		"rights): %w", job.Namespace, job.Name, err)}
}

// annotateOnce reads the job and patches that version, so it changes neither another job with the name nor an
// annotation that a user writes at the same time.
func (e *Exporter) annotateOnce(
	ctx context.Context, cluster ctrlclient.Client, s *sending, job *history.Job,
) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("TrainingJob"))
	err := cluster.Get(ctx, types.NamespacedName{Namespace: job.Namespace, Name: job.Name}, live)
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if live.UID != s.run.UID || live.Annotations[v1alpha1.AnnotationMLflowRunID] != "" {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion,
		"annotations": map[string]string{v1alpha1.AnnotationMLflowRunID: s.run.RunID},
	}})
	if err != nil {
		return err
	}
	err = cluster.Patch(ctx, live, ctrlclient.RawPatch(types.MergePatchType, patch),
		ctrlclient.FieldOwner(fieldOwner))
	return ctrlclient.IgnoreNotFound(err)
}
