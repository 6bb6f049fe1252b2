package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Options have what the API does not contain.
type Options struct {
	// GPUKind returns the key of a price for a job with GPUs: the product that the labels of its nodes name,
	// else the resource's name. Only names of extended resources contain a slash. Nil: the kind is unknown.
	GPUKind func(*v1alpha1.TrainingJob) string
	// NamespaceUID returns the UID of the job's namespace, or "" if it is unknown. Nil: it is unknown.
	NamespaceUID func(*v1alpha1.TrainingJob) types.UID
	// UserKeys are annotations or labels with the user of a job; the first that is not empty counts.
	UserKeys []string
}

// Of returns the record of one version of a job. The version must come from an API server: it has a UID and a
// resource version. Of neither changes the job nor shares memory with it.
func Of(cluster string, job *v1alpha1.TrainingJob, o Options) Record {
	job = job.DeepCopy()
	r := Record{Job: jobOf(cluster, job, o)}
	r.Transitions = transitionsOf(&job.Status)
	r.Attempts = attemptsOf(job, r.Transitions, r.Job.GPUKind)
	r.Counts = countsOf(&job.Status)
	r.Preemptions = preemptionsOf(&job.Status, r.Transitions)
	r.Samples = samplesOf(&job.Status)
	r.Checkpoints = checkpointsOf(&job.Status)
	clean(&r)
	conclude(&r)
	return r
}

// Gone returns the record of a job that is only known to be deleted: at a time, or at some time before one.
// One of the two is required; at takes precedence.
func Gone(key Key, at, before *time.Time) Record {
	r := Record{Job: Job{Key: key, Deleted: wholeSeconds(at), DeletedBefore: wholeSeconds(before)}}
	conclude(&r)
	return r
}

func jobOf(cluster string, job *v1alpha1.TrainingJob, o Options) Job {
	st := &job.Status
	j := Job{
		Key: Key{Cluster: cluster, UID: job.UID}, Namespace: job.Namespace, Name: job.Name,
		User: UserOf(job, o.UserKeys), Queue: QueueOf(job), Framework: job.Spec.Framework,
		PriorityClass: spec.PriorityClass(job), ResourceVersion: job.ResourceVersion,
		Scheduler: job.Spec.RunPolicy.SchedulingPolicy.Scheduler,
		Phase:     st.Phase, Message: st.Message, GPUs: st.GPUs, Replicas: st.Replicas, Attempt: st.Attempt,
		Restarts: st.Restarts, Preemptions: st.Preemptions, Work: st.Work,
		Created: second(job.CreationTimestamp), Started: optional(st.StartTime),
		Completed: optional(st.CompletionTime), Manifest: manifestOf(job),
	}
	if s := st.Scheduling; s != nil {
		j.Scheduler = cmp.Or(s.Scheduler, j.Scheduler)
	}
	if n := len(st.Transitions); n > 0 {
		j.Reason = st.Transitions[n-1].Reason
	}
	if s := st.Scheduling; s != nil && s.Blocker != nil {
		j.Reason = s.Blocker.Reason // as in kubectl's column
	}
	if o.NamespaceUID != nil {
		j.NamespaceUID = o.NamespaceUID(job)
	}
	if o.GPUKind != nil && st.GPUs > 0 {
		j.GPUKind = o.GPUKind(job)
	}
	return j
}

// QueueOf returns the queue to which the gang was submitted, else the one in the spec, else the default of
// the scheduler.
func QueueOf(job *v1alpha1.TrainingJob) string {
	queue, scheduler := spec.Queue(job), job.Spec.RunPolicy.SchedulingPolicy.Scheduler
	if s := job.Status.Scheduling; s != nil {
		queue, scheduler = cmp.Or(s.Queue, queue), cmp.Or(s.Scheduler, scheduler)
	}
	return cmp.Or(queue, schedulers.DefaultQueue(scheduler))
}

// UserOf returns the value of the first annotation or label that is not empty, else "".
func UserOf(job *v1alpha1.TrainingJob, keys []string) string {
	for _, key := range keys {
		if user := cmp.Or(job.Annotations[key], job.Labels[key]); user != "" {
			return user
		}
	}
	return ""
}

// manifestOf returns the manifest without managed fields and kubectl's copy of it.
func manifestOf(job *v1alpha1.TrainingJob) json.RawMessage {
	annotations := maps.Clone(job.Annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	manifest, err := json.Marshal(struct {
		Labels      map[string]string        `json:"labels,omitempty"`
		Annotations map[string]string        `json:"annotations,omitempty"`
		Spec        v1alpha1.TrainingJobSpec `json:"spec"`
	}{job.Labels, annotations, job.Spec})
	if err != nil { // cannot happen: it was decoded from JSON
		panic(fmt.Sprintf("encoding the spec of a TrainingJob: %v", err))
	}
	return manifest
}

// attemptsOf returns the current attempt. A version that is Pending, Restarting or Suspended has none: until
// the next attempt is queued, ranks and GPUs in its status are of the former one.
func attemptsOf(job *v1alpha1.TrainingJob, transitions []Transition, kind string) []Attempt {
	st := &job.Status
	switch st.Phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining:
	case v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed:
		if !began(transitions, st.Attempt) {
			return nil // rejected, or failed while suspended
		}
	default:
		return nil
	}
	if st.Attempt == 0 {
		return nil
	}
	a := Attempt{
		Number: st.Attempt, ResourceVersion: job.ResourceVersion, Replicas: st.Replicas, GPUs: st.GPUs,
		GPUKind: kind, Queue: QueueOf(job),
	}
	if c := st.Checkpoint; c != nil {
		a.ResumedFrom = inUTC(c.ResumeFrom)
	}
	return []Attempt{a}
}

// countsOf returns the counters at the start of the current attempt. Only Failed counts the loss of an
// attempt without starting another.
func countsOf(st *v1alpha1.TrainingJobStatus) []Counts {
	if st.Attempt == 0 || st.Phase == v1alpha1.PhaseFailed {
		return nil
	}
	return []Counts{{
		Attempt: st.Attempt, Preemptions: st.Preemptions, Lost: lossOf(st.Work), Yielded: yieldedOf(st.Work),
		Freed: freedOf(st.Work),
	}}
}

func lossOf(w *v1alpha1.WorkStatus) Loss {
	if w == nil {
		return Loss{}
	}
	return Loss{Steps: w.LostSteps, Seconds: w.LostSeconds, GPUSeconds: w.LostGPUSeconds}
}

// samplesOf returns the progress in the status, which can belong to an earlier attempt.
func samplesOf(st *v1alpha1.TrainingJobStatus) []Sample {
	p := st.Progress
	if p == nil || p.Attempt == 0 {
		return nil
	}
	return []Sample{{
		Attempt: p.Attempt, Step: p.Step, Time: second(p.ReportedTime), Percent: p.Percent, Epoch: p.Epoch,
		Metrics: p.Metrics,
	}}
}

// checkpointsOf returns the latest checkpoint and the one that was resumed from. The latest belongs to the
// current attempt only if it is beyond the resume point, as in the operator.
func checkpointsOf(st *v1alpha1.TrainingJobStatus) []Checkpoint {
	c := st.Checkpoint
	if c == nil {
		return nil
	}
	var all []Checkpoint
	if from := c.ResumeFrom; from != nil {
		all = append(all, Checkpoint{URI: from.URI, Step: from.Step, Time: optional(from.Time)})
	}
	if l := c.Latest; l != nil {
		point := Checkpoint{URI: l.URI, Step: l.Step, Time: optional(l.Time)}
		if c.ResumeFrom == nil || l.Step > c.ResumeFrom.Step {
			point.Attempt = st.Attempt
		}
		all = append(all, point)
	}
	return joinCheckpoints(all, nil)
}

func inUTC(p *v1alpha1.CheckpointPoint) *v1alpha1.CheckpointPoint {
	if p == nil || p.Time == nil {
		return p
	}
	at := metav1.NewTime(second(*p.Time))
	return &v1alpha1.CheckpointPoint{URI: p.URI, Step: p.Step, Time: &at}
}

// second returns a time in whole seconds, as in the API; zero if JSON cannot have its year in UTC.
func second(t metav1.Time) time.Time {
	utc := time.Unix(t.Unix(), 0).UTC()
	if t.IsZero() || utc.Year() < 0 || utc.Year() > 9999 {
		return time.Time{}
	}
	return utc
}

func optional(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(second(*t))
}

func wholeSeconds(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(time.Unix(t.Unix(), 0).UTC())
}
