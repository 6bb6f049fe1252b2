package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// contest is a fixture of one node, for which two jobs contend, with a scheduler that the test plays.
type contest struct {
	*fixture
	state   *clusterstate.Cluster
	backend scheduler.Backend
	reports reportsOf
	jobs    []string
	log     strings.Builder
	// traces of preemption by the operator in what was written.
	traces []string
	// forecasts counts the writes that only have a forecast. They are not logged.
	forecasts int
}

func newContest(t *testing.T, backend scheduler.Backend, planning *planner.Options) *contest {
	low := classOf("low", corev1.PreemptLowerPriority, nil)
	low.Value = 0
	high := classOf("high", corev1.PreemptLowerPriority, highWaits)
	flavor := &kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "h100"}}
	c := &contest{fixture: newFixtureOn(t, backend, &low, &high, flavor), backend: backend, reports: reportsOf{}}
	c.options.Planning, c.options.Reports = planning, c.reports
	c.options.Agent = func() render.Agent {
		return render.Agent{Image: "agent", ReportURL: "https://operator.example.com/reports", Audience: "reports"}
	}
	c.full, c.applyStatus = c.write, c.applyWorkload
	c.dependencies.clusterObjects = &backends.ClusterObjects{Cluster: storedCluster{store: c.store}}
	c.state = c.withNodes(backends.NodeAutoscalerAbsent, "8")
	c.dependencies.counts.Waiting.Store(1)
	setClasses(c.state, highWaits)
	c.state.SetClass(&low)
	return c
}

// write logs one write in a line, and what in it belongs to preemption by the operator.
func (c *contest) write(what string, carries any) {
	raw, err := json.Marshal(carries)
	if err != nil {
		c.t.Fatal(err)
	}
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		c.t.Fatal(err)
	}
	if isForecast(content) {
		c.forecasts++
		return
	}
	line := what
	for _, path := range [][]string{
		{"status", "phase"}, {"status", "attempt"}, {"spec", "priorityClassName"},
		{"spec", "priorityClassRef", "name"},
	} {
		if value, found, _ := unstructured.NestedFieldNoCopy(object(content), path...); found {
			line += fmt.Sprintf(" %s=%v", strings.Join(path[1:], "."), value)
		}
	}
	fmt.Fprintln(&c.log, line)
	for _, trace := range brokerTraces("", content) {
		c.traces = append(c.traces, what+": "+trace)
	}
}

// isForecast reports whether a write of a status has a forecast and nothing else.
func isForecast(content any) bool {
	s, found, _ := unstructured.NestedMap(object(content), "status")
	scheduling, _ := s["scheduling"].(map[string]any)
	if !found || len(s) != 1 || len(scheduling) == 0 {
		return false
	}
	for field := range scheduling {
		if field != "estimatedStart" && field != "estimatedEnd" && field != "firstForecast" {
			return false
		}
	}
	return true
}

func object(content any) map[string]any {
	o, _ := content.(map[string]any)
	return o
}

// brokerTraces are the fields of a write that only an operator that chooses victims sets.
func brokerTraces(path string, content any) (traces []string) {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			at := path + "." + key
			switch {
			case slices.Contains([]string{"waitingClass", "preemptionGate", "preemptionGates", "preemption"}, key),
				key == "preemptionPolicy" && value == string(corev1.PreemptNever):
				traces = append(traces, at)
			default:
				traces = append(traces, brokerTraces(at, value)...)
			}
		}
	case []any:
		for _, value := range content {
			traces = append(traces, brokerTraces(path, value)...)
		}
	case string:
		if content == "high-waits" || content == string(v1alpha1.CauseBrokered) {
			traces = append(traces, path+"="+content)
		}
	}
	return traces
}

// settle reconciles every job until nothing is written any more.
func (c *contest) settle(heading string) {
	c.t.Helper()
	fmt.Fprintf(&c.log, "\n# %s\n\n", heading)
	for range 20 {
		c.sync()
		var pods []*corev1.Pod
		for _, pod := range c.podsOf("") {
			pods = append(pods, &pod)
		}
		c.state.SetPods("", pods)
		if c.r.gatherer.planner != nil {
			c.plan()
		}
		if c.r.gatherer.forecaster != nil {
			c.estimate()
		}
		writes := 0
		for _, name := range c.jobs {
			writes += len(c.reconcileJob(name))
		}
		if writes == 0 {
			return
		}
	}
	c.t.Fatalf("%q, and it still writes:\n%s", heading, c.log.String())
}

func (c *contest) submit(name, class string) {
	c.t.Helper()
	job := checkpointed(1)
	job.Name, job.UID = name, types.UID("uid-"+name)
	job.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	policy := &job.Spec.RunPolicy.SchedulingPolicy
	policy.PriorityClass, policy.Scheduler = class, v1alpha1.SchedulerName(c.backend.Name())
	switch c.backend.Name() { // the others have no queues
	case volcano.Name:
		policy.Queue = "research"
	case kueue.Name:
		job.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "research"}
	}
	if err := c.store.Create(c.t.Context(), job); err != nil {
		c.t.Fatal(err)
	}
	c.jobs = append(c.jobs, name)
	slices.Sort(c.jobs)
}

// suspend a job, or let it go on.
func (c *contest) suspend(name string, suspend bool) {
	c.t.Helper()
	job := c.jobNamed(name)
	job.Spec.RunPolicy.Suspend = &suspend
	job.Generation++
	if err := c.store.Update(c.t.Context(), job); err != nil {
		c.t.Fatal(err)
	}
}

// report makes rank 0 of a job report its progress, and its last checkpoint if it has one. It also answers a
// request for a checkpoint.
func (c *contest) report(name string, step, saved int64) {
	c.t.Helper()
	job := c.jobNamed(name)
	r := report(step, saved, c.clock.Now())
	r.Attempt = job.Status.Attempt
	if r.Checkpoint != nil {
		r.Checkpoint.URI = fmt.Sprintf("pvc://%s-checkpoints/attempt-%d/step-%d", name, r.Attempt, saved)
	}
	if job.Status.Drain != nil {
		r.CommandID = job.Status.Drain.CommandID
	}
	c.reports[job.UID] = r
}

// podsOf a job; of all of them: "".
func (c *contest) podsOf(name string) []corev1.Pod {
	c.t.Helper()
	var of []client.ListOption
	if name != "" {
		of = append(of, client.MatchingLabels{v1alpha1.LabelJobName: name})
	}
	pods := &corev1.PodList{}
	if err := c.store.List(c.t.Context(), pods, of...); err != nil {
		c.t.Fatal(err)
	}
	return pods.Items
}

// changeRanks changes the pods of a job's ranks, as a scheduler and a kubelet would.
func (c *contest) changeRanks(name string, change func(*corev1.Pod)) {
	c.t.Helper()
	ranks := slices.DeleteFunc(c.podsOf(name), func(p corev1.Pod) bool { return render.IsResolver(&p) })
	if len(ranks) == 0 {
		c.t.Fatalf("%s has no ranks:\n%s", name, c.log.String())
	}
	c.changePods(ranks, change)
}

// search ends the search of a job's volume: it has found the checkpoint that was reported last.
func (c *contest) search(name string) {
	c.t.Helper()
	job := c.jobNamed(name)
	message := resolved(c.t, job.Status.Attempt, c.reports[job.UID].Checkpoint)
	searches := slices.DeleteFunc(c.podsOf(name), func(p corev1.Pod) bool { return !render.IsResolver(&p) })
	c.changePods(searches, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: message},
		}}}
	})
}

// run the pods of a job.
func (c *contest) run(name string) {
	c.t.Helper()
	c.changeRanks(name, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		c.setCondition(p, corev1.PodReady, corev1.ConditionTrue, "", "")
		for _, in := range p.Spec.Containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: in.Name, Ready: true,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.at()}},
			})
		}
	})
}

// succeed has the ranks of a job exit 0.
func (c *contest) succeed(name string) {
	c.t.Helper()
	c.changeRanks(name, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		for i := range p.Status.ContainerStatuses {
			p.Status.ContainerStatuses[i].State = corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: c.at()},
			}
		}
	})
}

func (c *contest) at() metav1.Time { return metav1.NewTime(c.clock.Now()) }

// reportsOf jobs, the newest of each.
type reportsOf map[types.UID]*observation.Reported

func (reportsOf) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

func (r reportsOf) Latest(job types.UID) (observation.Reported, bool) {
	if r[job] == nil {
		return observation.Reported{}, false
	}
	return *r[job], true
}

func (r reportsOf) Reported(job types.UID) (int32, time.Time, bool) {
	if r[job] == nil {
		return 0, time.Time{}, false
	}
	return r[job].Attempt, r[job].Received, true
}

func (r reportsOf) Forget(job types.UID) { delete(r, job) }

// storedCluster has what the fixture's store has in its cache.
type storedCluster struct {
	cluster.Cluster
	store client.Reader
}

func (s storedCluster) GetCache() cache.Cache { return storedCache{store: s.store} }

type storedCache struct {
	cache.Cache
	store client.Reader
}

func (s storedCache) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	return s.store.List(ctx, list)
}
