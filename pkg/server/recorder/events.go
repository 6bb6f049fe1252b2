package recorder

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// handler of the informer's events. It never blocks.
func (r *Recorder) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if job, ok := o.(*v1alpha1.TrainingJob); ok {
				r.saw(job)
			}
		},
		UpdateFunc: func(old, o any) {
			job, ok := o.(*v1alpha1.TrainingJob)
			before, _ := old.(*v1alpha1.TrainingJob)
			// A resync has no news.
			if ok && (before == nil || before.UID != job.UID || before.ResourceVersion != job.ResourceVersion) {
				r.saw(job)
			}
		},
		DeleteFunc: func(o any) {
			missed, unseen := o.(toolscache.DeletedFinalStateUnknown)
			if unseen { // from a relist: the deletion itself was missed
				o = missed.Obj
			}
			if job, ok := o.(*v1alpha1.TrainingJob); ok {
				r.sawDeleted(job, unseen)
			}
		},
	}
}

// saw records a version of a job.
func (r *Recorder) saw(job *v1alpha1.TrainingJob) {
	r.pending.add(r.RecordOf(job), versionKey(job))
	r.finalizers.saw(job)
}

// sawDeleted records that a job is deleted, with its last known version.
func (r *Recorder) sawDeleted(job *v1alpha1.TrainingJob, unseen bool) {
	record := r.RecordOf(job)
	if job.DeletionTimestamp == nil { // without finalizers it is deleted at once
		now := r.now()
		if unseen {
			record = history.Merge(record, history.Gone(record.Job.Key, nil, &now))
		} else {
			record = history.Merge(record, history.Gone(record.Job.Key, &now, nil))
		}
	}
	v := versionKey(job)
	v.gone = true
	r.pending.add(record, v)
	r.finalizers.gone(job)
}

// RecordOf returns the record of one version of a job. A job that waits for its finalizers counts as deleted:
// that cannot be undone, and every replica records the same time. RecordOf can be called at any time; before
// Run has read the nodes, the kind of GPU is the resource.
func (r *Recorder) RecordOf(job *v1alpha1.TrainingJob) history.Record {
	o := history.Options{GPUKind: r.gpuKind, UserKeys: r.UserKeys}
	if r.Namespaces != nil {
		o.NamespaceUID = r.Namespaces.UIDOf
	}
	record := history.Of(r.Cluster, job, o)
	if at := job.DeletionTimestamp; at != nil {
		deleted := at.UTC()
		record = history.Merge(record, history.Gone(record.Job.Key, &deleted, nil))
	}
	return record
}

// now returns the time in whole seconds, like the API server's times.
func (r *Recorder) now() time.Time { return r.Clock.Now().UTC().Truncate(time.Second) }

// versionKey of a job as it was seen.
func versionKey(job *v1alpha1.TrainingJob) version {
	return version{
		uid: job.UID, namespace: job.Namespace, name: job.Name, resourceVersion: job.ResourceVersion,
		deleting: job.DeletionTimestamp != nil && hasFinalizer(&job.ObjectMeta),
	}
}

func hasFinalizer(meta *metav1.ObjectMeta) bool {
	return slices.Contains(meta.Finalizers, Finalizer)
}
