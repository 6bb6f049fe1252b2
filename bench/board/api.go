package board

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// api is the API of the cluster for the board. Its one user may read everything and change nothing.
type api struct {
	*cluster
	unserved
}

func (a *api) Clusters(context.Context) ([]rest.ClusterStatus, error) {
	return []rest.ClusterStatus{{Name: clusterName, Default: true, Synced: true}}, nil
}

func (a *api) VisibleJobs(context.Context, string, string) ([]*v1alpha1.TrainingJob, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.jobs), nil
}

func (a *api) job(at rest.JobPath) (*v1alpha1.TrainingJob, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, job := range a.jobs {
		if job.Namespace == at.Namespace && job.Name == at.Name {
			return job, nil
		}
	}
	return nil, problem.Newf(problem.NotFound, "there is no job %s/%s", at.Namespace, at.Name)
}

func (a *api) GetJob(_ context.Context, in *rest.GetInput) (*rest.JobOutput, error) {
	job, err := a.job(in.JobPath)
	if err != nil {
		return nil, err
	}
	return &rest.JobOutput{Body: rest.NewJob(job)}, nil
}

// VisibleNamespaces returns none: the filter has a field for the name.
func (a *api) VisibleNamespaces(context.Context, string) ([]string, error) { return nil, nil }

func (a *api) May(_ context.Context, _ string, do authorizationv1.ResourceAttributes) (bool, error) {
	return do.Verb == "get" || do.Verb == "list", nil
}

func (a *api) JobRecord(_ context.Context, in *rest.JobPath) (*rest.JobRecord, error) {
	job, err := a.job(*in)
	if err != nil {
		return nil, err
	}
	r := &rest.JobRecord{
		Live: job, Record: recordOf(job), Recorded: true, Explanation: new(explain.Of(job, time.Now().UTC())),
		Prices: map[string]*big.Rat{kindOf(0): big.NewRat(289, 100)}, Currency: "EUR",
	}
	if job.UID == a.large {
		a.mu.Lock()
		r.Record = a.record
		a.mu.Unlock()
	}
	r.Record.Samples = nil
	r.Timeline = timeline.Timeline{Source: timeline.FromHistory, Items: timeline.OfRecord(r.Record)}
	return r, nil
}

func (a *api) JobSamples(_ context.Context, in *rest.HistoryPath) (*rest.JobSamples, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if in.UID != string(a.large) {
		return &rest.JobSamples{}, nil
	}
	return &rest.JobSamples{Items: slices.Clone(a.record.Samples)}, nil
}

// Queues returns Volcano queues and their jobs.
func (a *api) Queues(context.Context, *rest.QueuesInput) (*rest.QueuesOutput, error) {
	a.mu.Lock()
	shared := slices.Clone(a.jobs)
	a.mu.Unlock()
	var objects queues.Objects
	jobs, used := make([]v1alpha1.TrainingJob, 0, len(shared)), map[string]int64{}
	for _, job := range shared {
		jobs = append(jobs, *job)
		if job.Status.Phase == v1alpha1.PhaseRunning {
			used[history.QueueOf(job)] += int64(job.Status.ReadyReplicas)
		}
	}
	for i, name := range queueNames {
		q := volcanov1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
		q.Spec.Capability, q.Spec.Deserved = gpus(2500), gpus(1500+int64(i)*200)
		q.Status = volcanov1beta1.QueueStatus{State: volcanov1beta1.QueueStateOpen, Allocated: gpus(used[name])}
		objects.VolcanoQueues = append(objects.VolcanoQueues, q)
	}
	for i, name := range priorities {
		objects.PriorityClasses = append(objects.PriorityClasses, schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(100 * (i + 1)),
		})
	}
	out := &rest.QueuesOutput{}
	out.Body.Items = queues.Of(objects, jobs)
	return out, nil
}

func gpus(n int64) corev1.ResourceList {
	return corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
}

func (a *api) Snapshot(string) (*placement.Snapshot, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &placement.Snapshot{
		Version: uint64(a.version), NodesKnown: true, PodsKnown: true, Nodes: slices.Clone(a.nodes),
	}, nil
}

// Follow sends every change, whatever the filter: the large job changes each time, and no page of another job
// is measured.
func (a *api) Follow(string, live.Filter) (<-chan live.Event, func(), error) {
	changes := make(chan live.Event, 1) // each value only wakes the page up
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followers[changes] = struct{}{}
	return changes, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.followers, changes)
	}, nil
}

// placed adds the placement of ranks to the api.
type placed struct{ *api }

// Follow sends every change of ranks, as for jobs.
func (p placed) Follow(string, string, string) (<-chan struct{}, func(), error) {
	changes := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rankFollowers[changes] = struct{}{}
	return changes, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.rankFollowers, changes)
	}, nil
}

// largeJob returns the name of the large job.
func (a *api) largeJob() (namespace, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	job := a.find(a.large)
	return job.Namespace, job.Name
}

// unserved has the operations of pages that are not measured.
type unserved struct{}

func (unserved) refuse(what string) error {
	return problem.New(problem.Forbidden, fmt.Sprintf("a benchmark has no %s", what), "look at another page")
}

func (u unserved) PastJobRecord(context.Context, *rest.HistoryPath) (*rest.JobRecord, error) {
	return nil, u.refuse("history")
}

func (u unserved) JobLogs(context.Context, *rest.JobPath) (*rest.JobLogs, error) {
	return nil, u.refuse("logs")
}

func (u unserved) HistoryJobs(context.Context, *rest.HistoryInput) (*rest.HistoryJobsOutput, error) {
	return nil, u.refuse("history")
}

func (u unserved) Accounting(context.Context, *rest.AccountingInput) (*rest.Accounting, error) {
	return nil, u.refuse("accounting")
}

func (u unserved) AccountingCSV(context.Context, *rest.AccountingInput) ([]byte, error) {
	return nil, u.refuse("accounting")
}

func (u unserved) CreateJob(context.Context, *rest.CreateInput) (*rest.CreateOutput, error) {
	return nil, u.refuse("changes")
}

func (u unserved) ActOnJob(context.Context, rest.Action, *rest.ActionInput) (*rest.JobOutput, error) {
	return nil, u.refuse("changes")
}

func (u unserved) DeleteJob(context.Context, *rest.DeleteInput) (*rest.DeleteOutput, error) {
	return nil, u.refuse("changes")
}
