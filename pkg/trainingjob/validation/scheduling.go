package validation

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

func validateScheduling(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	p := job.Spec.RunPolicy.SchedulingPolicy
	errs := slices.Concat(
		oneOf(path.Child("scheduler"), p.Scheduler,
			v1alpha1.SchedulerVolcano, v1alpha1.SchedulerKueue, v1alpha1.SchedulerCoscheduling,
			v1alpha1.SchedulerNative),
		inRange(path.Child("minAvailable"), p.MinAvailable, 1, math.MaxInt32),
		inRange(path.Child("scheduleTimeoutSeconds"), p.ScheduleTimeoutSeconds, 1, math.MaxInt32))
	errs = append(errs, validateRoleMinima(job)...)
	if ranks := spec.Ranks(job); p.MinAvailable != nil && *p.MinAvailable > ranks {
		errs = append(errs, field.Invalid(path.Child("minAvailable"), *p.MinAvailable, fmt.Sprintf(
			"minAvailable %d exceeds the %d ranks: set it to at most %d, or raise replicas",
			*p.MinAvailable, ranks, ranks)))
	}
	backfill := path.Child("backfill")
	errs = append(errs, oneOf(backfill, p.Backfill, v1alpha1.BackfillNever, v1alpha1.BackfillLent)...)
	if p.Backfill == v1alpha1.BackfillLent && spec.Checkpoints(job) == nil {
		errs = append(errs, field.Invalid(backfill, p.Backfill,
			"a gang leaves lent capacity after a save: set spec.checkpoint, or set backfill to Never"))
	}
	errs = append(errs, optionalName(path.Child("priorityClass"), p.PriorityClass, "PriorityClass")...)
	return append(errs, validateMinResources(p, path.Child("minResources"))...)
}

// validateRoleMinima checks minAvailable of the roles, and that the job does not set its own as well.
func validateRoleMinima(job *v1alpha1.TrainingJob) field.ErrorList {
	path := field.NewPath("spec", "replicaSpecs")
	var errs field.ErrorList
	given, needed := false, len(job.Spec.ReplicaSpecs) == 0
	for _, name := range slices.Sorted(maps.Keys(job.Spec.ReplicaSpecs)) {
		role := job.Spec.ReplicaSpecs[name]
		at := path.Key(string(name)).Child("minAvailable")
		errs = append(errs, inRange(at, role.MinAvailable, 0, math.MaxInt32)...)
		needed = needed || role.MinAvailable == nil || *role.MinAvailable > 0
		given = given || role.MinAvailable != nil
		if n := spec.Replicas(role.Replicas); role.MinAvailable != nil && *role.MinAvailable > n {
			errs = append(errs, field.Invalid(path, *role.MinAvailable,
				"minAvailable of a role exceeds its replicas: lower it, or raise replicas"))
		}
	}
	if given && job.Spec.RunPolicy.SchedulingPolicy.MinAvailable != nil {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "runPolicy", "schedulingPolicy", "minAvailable"),
			"minAvailable is given twice: remove spec.runPolicy.schedulingPolicy.minAvailable, or that of the roles"))
	}
	if !needed {
		errs = append(errs, field.Invalid(path, 0,
			"minAvailable of every role is 0, so no rank would be needed: raise one"))
	}
	return errs
}

// validateMinResources checks that the scheduler supports minResources, and that none is negative.
func validateMinResources(p v1alpha1.SchedulingPolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.MinResources != nil {
		switch p.Scheduler {
		case v1alpha1.SchedulerNative:
			errs = append(errs, field.Forbidden(path,
				"scheduler native ignores minResources: remove it, or use scheduler volcano"))
		case v1alpha1.SchedulerCoscheduling:
			errs = append(errs, field.Forbidden(path, "scheduler coscheduling neither preempts for minResources "+
				"nor tries them again when GPUs become free: remove it, or use scheduler volcano"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.MinResources)) {
		if q := p.MinResources[name]; q.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), q.String(),
				"is negative: remove it, to have it computed from the pods"))
		}
	}
	return errs
}

// validateQueue checks that all fields, labels and annotations that can name a queue name the same one, and
// that the scheduler has queues.
func validateQueue(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	first, firstPath := "", (*field.Path)(nil)
	metadata := field.NewPath("metadata")
	for _, source := range []struct {
		path  *field.Path
		queue string
	}{
		{path, job.Spec.RunPolicy.SchedulingPolicy.Queue},
		{metadata.Child("labels").Key(v1alpha1.LabelKueueQueue), job.Labels[v1alpha1.LabelKueueQueue]},
		{
			metadata.Child("annotations").Key(v1alpha1.AnnotationVolcanoQueue),
			job.Annotations[v1alpha1.AnnotationVolcanoQueue],
		},
	} {
		switch {
		case source.queue == "":
			continue
		case !isName(source.queue):
			errs = append(errs, field.Invalid(source.path, source.queue, notAName("queue")))
		case first != "" && source.queue != first:
			errs = append(errs, field.Invalid(source.path, source.queue, fmt.Sprintf(
				"the queue is given twice, and %s says %q: remove one of the two", firstPath, first)))
		}
		if first == "" {
			first, firstPath = source.queue, source.path
		}
	}
	policy := job.Spec.RunPolicy.SchedulingPolicy
	if s := policy.Scheduler; job.Labels[v1alpha1.LabelKueueQueue] != "" && s != "" &&
		s != v1alpha1.SchedulerKueue {
		return append(errs, field.Forbidden(metadata.Child("labels").Key(v1alpha1.LabelKueueQueue), fmt.Sprintf(
			"names a queue of Kueue, whose quota scheduler %s does not know: use scheduler kueue, or remove the "+
				"label", s)))
	}
	queueless := []v1alpha1.SchedulerName{v1alpha1.SchedulerNative, v1alpha1.SchedulerCoscheduling}
	if s := policy.Scheduler; first != "" && slices.Contains(queueless, s) {
		errs = append(errs, field.Forbidden(firstPath, fmt.Sprintf(
			"scheduler %s has no queues: remove the queue, or use scheduler volcano", s)))
	}
	return errs
}
