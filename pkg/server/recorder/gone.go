package recorder

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// recordGone records jobs of the store that no longer exist in the cluster as deleted before now. The cache
// alone is not enough: another replica can have recorded a job that it does not have yet.
func (r *Recorder) recordGone(ctx context.Context) error {
	var jobs v1alpha1.TrainingJobList
	if err := r.Cache.List(ctx, &jobs, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the jobs: %w", err)
	}
	seen := make(map[types.UID]bool, len(jobs.Items))
	for i := range jobs.Items {
		seen[jobs.Items[i].UID] = true
	}
	var absent []version
	err := r.Store.Unfinished(ctx, r.Cluster, func(key history.Key, namespace, name string) error {
		if !seen[key.UID] {
			absent = append(absent, version{uid: key.UID, namespace: namespace, name: name, gone: true})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing the jobs of the history: %w", err)
	}
	for _, v := range absent {
		is, err := r.isGone(ctx, v)
		if err != nil {
			return err
		}
		if is {
			now := r.now()
			r.pending.add(history.Gone(history.Key{Cluster: r.Cluster, UID: v.uid}, nil, &now), v)
		}
	}
	return nil
}

// isGone reads the job from the API server.
func (r *Recorder) isGone(ctx context.Context, v version) (bool, error) {
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(jobKind)
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: v.namespace, Name: v.name}, job)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading job %s/%s: %w", v.namespace, v.name, err)
	}
	return job.UID != v.uid, nil
}
