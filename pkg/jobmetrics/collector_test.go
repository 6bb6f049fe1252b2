package jobmetrics

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}

// cached is a cache with these jobs.
type cached struct {
	client.Reader
	jobs []v1alpha1.TrainingJob
	err  error
}

func (c *cached) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	if o.ApplyOptions(opts); o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		return errors.New("every scrape copies all jobs")
	}
	into.(*v1alpha1.TrainingJobList).Items = c.jobs
	return c.err
}

// options of collectors that read these jobs, on the leading replica.
func options(c *cached) Options {
	leading := make(chan struct{})
	close(leading)
	return Options{Jobs: c, Leading: leading, Limit: 100, RankLimit: 100}
}

// scrape returns the output of a collector. The registry compares it with the descriptions.
func scrape(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	code, text := tryScrape(t, c)
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, text)
	}
	return text
}

func tryScrape(t *testing.T, c prometheus.Collector) (int, string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	return answer.Code, answer.Body.String()
}

// job in a phase that it entered some seconds after the start.
func job(name string, phase v1alpha1.Phase, since int) v1alpha1.TrainingJob {
	two := int32(2)
	j := v1alpha1.TrainingJob{}
	j.Namespace, j.Name, j.CreationTimestamp = "team-a", name, at(0)
	j.Spec = v1alpha1.TrainingJobSpec{Framework: v1alpha1.FrameworkPyTorch, Replicas: &two}
	j.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}
	j.Status = v1alpha1.TrainingJobStatus{
		Phase: phase, Attempt: 1, Replicas: 2, GPUs: 8,
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.RoleWorker: {Replicas: 2}},
		Scheduling:      &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerKueue, Queue: "research"},
		Transitions:     []v1alpha1.Transition{{Time: at(since), Phase: phase}},
	}
	return j
}

// running is a job that trains, with every field that a metric reads.
func running() v1alpha1.TrainingJob {
	j := job("bert", v1alpha1.PhaseRunning, 60)
	j.Status.Liveness = &v1alpha1.LivenessStatus{
		State: v1alpha1.LivenessHung, ReportingRanks: 3, WatchedRanks: 4,
	}
	j.Labels = map[string]string{v1alpha1.LabelKueuePriority: "high"}
	j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{}
	st := &j.Status
	st.Attempt = 3
	workers := st.ReplicaStatuses[v1alpha1.RoleWorker]
	workers.Active = 2
	st.ReplicaStatuses[v1alpha1.RoleWorker] = workers
	st.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue},
		{Type: v1alpha1.ConditionResumeIgnored, Status: metav1.ConditionTrue},
		{Type: v1alpha1.ConditionPreempted, Status: metav1.ConditionFalse},
		{Type: "OfAnotherController", Status: metav1.ConditionTrue},
	}
	end, percent, goodput := at(1200), int32(25), int32(87)
	st.Progress = &v1alpha1.ProgressStatus{
		Percent: &percent, Step: 100, TotalSteps: 400, Epoch: "2.48", ReportedTime: at(600),
		EstimatedCompletionTime: &end,
		Metrics:                 map[string]string{"loss": "1.2345", "accuracy": "0.91", "learning_rate": "0.1"},
	}
	saved := at(540)
	st.Checkpoint = &v1alpha1.CheckpointStatus{Latest: &v1alpha1.CheckpointPoint{Step: 90, Time: &saved}}
	st.Work = &v1alpha1.WorkStatus{Goodput: &goodput}
	return j
}

func queued(name, reason string) v1alpha1.TrainingJob {
	j := job(name, v1alpha1.PhaseQueued, 5)
	j.Status.Scheduling.Blocker = &v1alpha1.Blocker{Reason: reason}
	return j
}

// everyKind returns the jobs of the golden file.
func everyKind() []v1alpha1.TrainingJob {
	fresh := v1alpha1.TrainingJob{}
	fresh.Namespace, fresh.Name, fresh.CreationTimestamp = "team-b", "fresh", at(10)
	partial := job("partial", v1alpha1.PhaseRunning, 30)
	partial.Status.ReplicaStatuses[v1alpha1.RoleWorker] = v1alpha1.ReplicaStatus{Replicas: 2, Active: 2}
	partial.Status.Workers = []v1alpha1.WorkerStatus{{Role: v1alpha1.RoleWorker, Phase: "Pending"},
		{Role: v1alpha1.RoleWorker, Index: 1, Phase: "Running", Node: "n1"}}
	elsewhere := job("elsewhere", v1alpha1.PhaseRunning, 30)
	elsewhere.Spec.ManagedBy = v1alpha1.ManagedByMultiKueue
	claims := job("claims", v1alpha1.PhaseRunning, 30)
	claims.Status.ReplicaStatuses[v1alpha1.RoleWorker] = v1alpha1.ReplicaStatus{Replicas: 2, Active: 2}
	claims.Status.GPUs, claims.Status.GPUsUnknown = 0, "ResourceClaimTemplate all-gpus does not exist"
	full := queued("full", v1alpha1.ReasonInsufficientResources)
	full.Status.Scheduling.Reservation = &v1alpha1.ReservationStatus{Phase: v1alpha1.ReservationKept}
	full.Status.Scheduling.Backfill = &v1alpha1.BackfillStatus{HeldSeconds: 60}
	partial.Status.Scheduling.Backfill = &v1alpha1.BackfillStatus{How: v1alpha1.BackfillIsLent}
	return []v1alpha1.TrainingJob{
		running(), partial, claims, elsewhere, fresh, job("done", v1alpha1.PhaseSucceeded, 900),
		full, queued("odd", "SomethingOfAScheduler"),
	}
}

func TestGolden(t *testing.T) {
	for file, collector := range map[string]prometheus.Collector{
		"testdata/jobs.txt": NewJobs(options(&cached{jobs: everyKind()})),
		"testdata/sums.txt": NewSums(options(&cached{jobs: everyKind()})),
	} {
		got := scrape(t, collector)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		problems, err := promlint.New(strings.NewReader(got)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: promlint: %v %v", file, problems, err)
		}
	}
}

// TestEveryDescriptionIsServed: the golden files show each metric that the documentation lists.
func TestEveryDescriptionIsServed(t *testing.T) {
	served := scrape(t, NewJobs(options(&cached{jobs: everyKind()}))) +
		scrape(t, NewSums(options(&cached{jobs: everyKind()})))
	for _, d := range append(JobDescriptions(), SumDescriptions()...) {
		if d.Cardinality == "" || !strings.Contains(served, "# TYPE "+d.Name+" "+string(d.Type)+"\n") {
			t.Errorf("%s is not served as described", d.Name)
		}
	}
}

// TestDeletedJobHasNoSeries: the series of a job end with its deletion.
func TestDeletedJobHasNoSeries(t *testing.T) {
	jobs := &cached{jobs: everyKind()}
	series, sums := NewJobs(options(jobs)), NewSums(options(jobs))
	scrape(t, series)
	scrape(t, sums)
	jobs.jobs = nil
	if got := scrape(t, series); strings.Contains(got, `namespace="`) {
		t.Errorf("a job is left:\n%s", got)
	}
	if got := scrape(t, sums); got != "" {
		t.Errorf("a job is left:\n%s", got)
	}
}

// TestOnlyLeaderHasSeries: two replicas would count each job twice.
func TestOnlyLeaderHasSeries(t *testing.T) {
	o := options(&cached{jobs: everyKind()})
	leading := make(chan struct{})
	o.Leading = leading
	series, sums := NewJobs(o), NewSums(o)
	if got := scrape(t, series) + scrape(t, sums); got != "" {
		t.Errorf("a standby serves:\n%s", got)
	}
	close(leading)
	if got := scrape(t, series); !strings.Contains(got, `name="bert"`) {
		t.Errorf("the new leader serves:\n%s", got)
	}
}

// TestUnreadableCache: the scrape fails; an empty answer would mean that there are no jobs.
func TestUnreadableCache(t *testing.T) {
	o := options(&cached{err: errors.New("the cache is not started")})
	if code, text := tryScrape(t, NewJobs(o)); code != http.StatusInternalServerError ||
		!strings.Contains(text, "the cache is not started") {
		t.Errorf("%d: %s", code, text)
	}
}
