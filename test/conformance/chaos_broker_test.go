//go:build cluster

package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
)

// chaosPlanning is the operator's configuration in a chaos run with the broker. MaxDelay leaves time for a
// heartbeat and a save; victims that finish within it end by themselves.
var chaosPlanning = &planner.Options{
	LossCap: time.Hour, UnknownStart: time.Second, MaxPlans: 8, MaxDelay: 20 * time.Second, MaxRounds: 3,
	MeanRun: time.Second, Broker: true,
}

const (
	// Pauses after a fault are so many times longer with the broker, and while the operator carries out a plan,
	// which takes about ten seconds.
	brokerSlowness, planSlowness = 5, 10
	// brokerPopulation is how many unfinished jobs there are at each fault with the broker. brokerVictims of
	// them run long, and fill the nodes.
	brokerPopulation, brokerVictims = 9, 7
	// brokerRanks is the largest number of ranks of a job with the broker: they must fit while faults hold two
	// of four nodes. Each rank of an urgent gang needs a whole node.
	brokerRanks, urgentGPUs = 2, 8
	// The stream of random numbers of the broker is another one than that of the faults and the jobs, so that
	// these are the same with the broker and without.
	brokerStream = 1 << 63
)

// victimClasses are the classes of victims, each as often as it is drawn.
var victimClasses = []string{low, low, middle, sheltered}

// chaosBrokerClasses maps the classes of jobs in a chaos run with the broker to their values.
func chaosBrokerClasses() map[string]int32 {
	values := maps.Clone(priorityClasses)
	for _, class := range brokerClasses() {
		values[class.Name] = class.Value
	}
	return values
}

// brokers returns the dialect with the broker on.
func (d *dialect) brokers() *dialect {
	brokers := *d
	brokers.planning = chaosPlanning
	return &brokers
}

// joinBroker gives a job its part in preemption by the broker. A job that is not a victim is urgent in three
// of four cases; for the others the scheduler decides alone.
func joinBroker(job *v1alpha1.TrainingJob, random *rand.Rand, victim bool) {
	class := &job.Spec.RunPolicy.SchedulingPolicy.PriorityClass
	worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	worker.Replicas = ptr.To(min(*worker.Replicas, brokerRanks))
	switch {
	case victim:
		*class = victimClasses[random.IntN(len(victimClasses))]
		prolong(worker.Template.Annotations, random)
	case random.IntN(4) > 0:
		*class = urgent
		worker.Template.Spec.Containers[0].Resources = gpuRequests(urgentGPUs)
	default:
		*class = []string{high, misnamed, thief}[random.IntN(3)]
	}
	job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = worker
}

// needsVictim reports whether fewer than brokerVictims unfinished jobs can be victims.
func needsVictim(v *view) bool {
	victims := 0
	for _, job := range v.jobs {
		if !job.Status.Phase.Finished() &&
			slices.Contains(victimClasses, job.Spec.RunPolicy.SchedulingPolicy.PriorityClass) {
			victims++
		}
	}
	return victims < brokerVictims
}

// prolong a victim so that it is one of one of the modes: a trainer saves quickly or slowly (Save), loses a
// save that it was asked for (then NextCheckpoint), or finishes soon (EndsByItself). Others save nothing
// (Kill).
func prolong(annotations map[string]string, random *rand.Rand) {
	trainer, trains := annotations[localcluster.AnnotationTrainer]
	if !trains {
		annotations[localcluster.AnnotationRunSeconds] = fmt.Sprint(30 + random.IntN(30))
		return
	}
	_, reaction, _ := strings.Cut(trainer, "on-sigterm=")
	annotations[localcluster.AnnotationTrainer] = []string{
		"steps=300 rate=6 every=4s save=500ms start=100ms",
		"steps=300 rate=6 every=8s save=3s start=100ms",
		"steps=300 rate=6 every=4s save=200ms start=100ms torn-at=150",
		"steps=300 rate=20 every=1s save=100ms start=100ms",
	}[random.IntN(4)] + " on-sigterm=" + reaction
}

// brokerViolations returns the broken rules of preemption by the broker as one error.
func (c *chaos) brokerViolations() error {
	found := BrokerViolations(c.recorder.soFar(), chaosBrokerClasses(), chaosPlanning.MaxRounds)
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("rules of the broker are broken:\n  %s", strings.Join(found, "\n  "))
}

// planned returns the jobs that take part in an outstanding plan, and the nodes of their ranks.
func (c *chaos) planned() (jobs, nodes map[string]bool) {
	c.recorder.mu.Lock()
	defer c.recorder.mu.Unlock()
	jobs, nodes = map[string]bool{}, map[string]bool{}
	for name, job := range c.recorder.view.jobs {
		plan := OutstandingPlan(job)
		if plan == nil {
			continue
		}
		jobs[name] = true
		for _, v := range plan.Victims {
			jobs[v.Name] = true
		}
	}
	for _, pod := range c.recorder.view.pods {
		if jobs[pod.Labels[v1alpha1.LabelJobName]] {
			nodes[pod.Spec.NodeName] = true
		}
	}
	return jobs, nodes
}

// slowness is how many times longer the pause after a fault is with the broker.
func (c *chaos) slowness() time.Duration {
	if jobs, _ := c.planned(); len(jobs) > 0 {
		return planSlowness
	}
	return brokerSlowness
}

// aimAtPlan narrows the targets of a quarter of the faults to those that take part in an outstanding plan.
func aimAtPlan[T any](c *chaos, from []T, planned func(T, map[string]bool, map[string]bool) bool) []T {
	if c.broker == nil || c.broker.IntN(4) > 0 {
		return from
	}
	jobs, nodes := c.planned()
	aimed := slices.DeleteFunc(slices.Clone(from), func(t T) bool { return !planned(t, jobs, nodes) })
	if len(aimed) == 0 {
		return from
	}
	return aimed
}

func podIsPlanned(pod *corev1.Pod, jobs, _ map[string]bool) bool {
	return jobs[pod.Labels[v1alpha1.LabelJobName]]
}

func jobIsPlanned(job *v1alpha1.TrainingJob, jobs, _ map[string]bool) bool { return jobs[job.Name] }

func nodeIsPlanned(name string, _, nodes map[string]bool) bool { return nodes[name] }

// TestDrawJobWithBroker: the jobs are the same with the broker and without, except for their part in
// preemption.
func TestDrawJobWithBroker(t *testing.T) {
	e := &Env{dialect: nativeDialect(), namespace: "chaos"}
	off := newChaos(e, rand.New(rand.NewPCG(1, 0)), nil)
	on := newChaos(e, rand.New(rand.NewPCG(1, 0)), rand.New(rand.NewPCG(1, brokerStream)))
	classes := map[string]int{}
	for i := range 200 {
		without, with := off.drawJob(false), on.drawJob(i%2 == 0)
		classes[with.Spec.RunPolicy.SchedulingPolicy.PriorityClass]++
		a := without.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
		b := with.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
		if *b.Replicas != min(*a.Replicas, brokerRanks) ||
			(without.Spec.Checkpoint == nil) != (with.Spec.Checkpoint == nil) {
			t.Errorf("job %s is another one with the broker than without", with.Name)
		}
	}
	for _, class := range []string{urgent, low, middle, sheltered, high, misnamed, thief} {
		if classes[class] == 0 {
			t.Errorf("no job of 200 has class %s", class)
		}
	}
}
