package mlflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Tags of a run. MLflow's pages show its own tags (mlflow/utils/mlflow_tags.py).
const (
	tagPrefix = "trainingjob."
	// tagUID identifies the run of a job.
	tagUID          = tagPrefix + "uid"
	tagResumePoints = tagPrefix + "resume_points"

	tagSourceType = "mlflow.source.type"
	tagSourceName = "mlflow.source.name"
	tagUser       = "mlflow.user"
)

// description is what the run of a job should contain, except metrics. It is a function of the job's record.
type description struct {
	experiment, name, user string
	start                  time.Time
	parameters             []pair            // sorted
	tags                   map[string]string // none is empty
	status                 string
	// end of the run; zero while it is active.
	end time.Time
	// annotated is the run in the job's annotation.
	annotated string
	// copied: another cluster has dispatched the job here, and creates its run.
	copied bool
}

// finished reports whether the job has ended.
func (d *description) finished() bool { return !d.end.IsZero() }

// describe returns the description of a job. The error is an unreadable manifest.
func describe(r *history.Record, prefix string) (*description, error) {
	var manifest struct {
		Labels      map[string]string        `json:"labels"`
		Annotations map[string]string        `json:"annotations"`
		Spec        v1alpha1.TrainingJobSpec `json:"spec"`
	}
	if len(r.Job.Manifest) > 0 {
		if err := json.Unmarshal(r.Job.Manifest, &manifest); err != nil {
			return nil, fmt.Errorf("reading the manifest of %s/%s: %w", r.Job.Namespace, r.Job.Name, err)
		}
	}
	d := &description{
		experiment: spec.MLflowExperiment(manifest.Annotations, r.Job.Namespace),
		name:       r.Job.Name, user: r.Job.User, start: r.Job.Created,
		parameters: parametersOf(manifest.Spec.Hyperparameters, prefix),
		tags:       tagsOf(r),
		annotated:  manifest.Annotations[v1alpha1.AnnotationMLflowRunID],
		copied:     manifest.Labels[kueuev1beta2.MultiKueueOriginLabel] != "",
	}
	d.status, d.end = statusOf(&r.Job)
	return d, nil
}

// statusOf returns the status and end of a run. A job that was deleted before it finished was killed.
func statusOf(j *history.Job) (status string, end time.Time) {
	ended := func(times ...*time.Time) time.Time {
		for _, t := range times {
			if t != nil {
				return *t
			}
		}
		return time.Time{}
	}
	switch {
	case j.Phase == v1alpha1.PhaseSucceeded:
		status = statusFinished
	case j.Phase == v1alpha1.PhaseFailed:
		status = statusFailed
	case j.Deleted != nil || j.DeletedBefore != nil:
		return statusKilled, ended(j.Deleted, j.DeletedBefore)
	case j.Phase == v1alpha1.PhaseRunning:
		return statusRunning, time.Time{}
	default:
		return statusScheduled, time.Time{}
	}
	return status, ended(j.Completed, j.Deleted, j.DeletedBefore, &j.Created)
}

// parametersOf returns the hyperparameters. Of several with one name the first in order counts.
func parametersOf(values map[string]v1alpha1.HyperparameterValue, prefix string) []pair {
	var all []pair
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, ok := values[name].Scalar()
		key := cleanKey(prefix + name)
		if !ok || key == "" || seen[key] {
			continue
		}
		seen[key] = true
		all = append(all, pair{key, cut(value, maxParameter)})
	}
	return all
}

// tagsOf returns the tags: identity, queue, progress and interruptions of the job.
func tagsOf(r *history.Record) map[string]string {
	j := &r.Job
	all := map[string]string{
		tagUID: string(j.UID), tagSourceType: "JOB", tagSourceName: j.Namespace + "/" + j.Name, tagUser: j.User,
		tagPrefix + "cluster":        j.Cluster,
		tagPrefix + "namespace":      j.Namespace,
		tagPrefix + "name":           j.Name,
		tagPrefix + "framework":      string(j.Framework),
		tagPrefix + "queue":          j.Queue,
		tagPrefix + "scheduler":      string(j.Scheduler),
		tagPrefix + "priority_class": j.PriorityClass,
		tagPrefix + "gpus":           number(j.GPUs),
		tagPrefix + "gpu_kind":       j.GPUKind,
		tagPrefix + "phase":          string(j.Phase),
		tagPrefix + "reason":         j.Reason,
		tagPrefix + "attempt":        number(int64(j.Attempt)),
		tagPrefix + "restarts":       strconv.Itoa(int(j.Restarts)),
		tagPrefix + "preemptions":    strconv.Itoa(int(j.Preemptions)),
		tagResumePoints:              resumePoints(r.Attempts),
	}
	for key, value := range all {
		if all[key] = cut(value, maxTag); value == "" {
			delete(all, key)
		}
	}
	return all
}

// number is empty for 0.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// resumePoints lists the known resume points of the attempts, oldest first: the last ones that fit.
func resumePoints(attempts []history.Attempt) string {
	var all []string
	length := 0
	for _, a := range slices.Backward(attempts) {
		if a.ResumedFrom == nil {
			continue
		}
		point := fmt.Sprintf("attempt %d: step %d, %s", a.Number, a.ResumedFrom.Step, a.ResumedFrom.URI)
		if length += len(point) + len("; "); length > maxTag {
			break
		}
		all = append(all, point)
	}
	slices.Reverse(all)
	return strings.Join(all, "; ")
}

// pairs returns the map sorted by key.
func pairs(of map[string]string) []pair {
	var all []pair
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, pair{key, of[key]})
	}
	return all
}
