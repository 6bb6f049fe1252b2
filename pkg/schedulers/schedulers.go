// Package schedulers lists the gang schedulers that the operator supports, as data: for configuration, the
// conversion of jobs, local clusters and benchmarks. How the operator speaks to each is in the packages of
// folder scheduler. TestRegistry in cmd/operator compares the two.
package schedulers

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Entry is one scheduler.
type Entry struct {
	Name v1alpha1.SchedulerName
	// Title in texts.
	Title string
	// PodSchedulerName is the schedulerName of the gang's pods as the scheduler installs itself; "" if other
	// schedulers place them.
	PodSchedulerName string
	// QueueKey is the label or annotation by which other operators' jobs name a queue; "" without queues.
	QueueKey string
	// Brokers: the operator can choose the victims (preemption.mode Broker), because the scheduler preempts by
	// priority alone and not for gangs of a waiting class.
	Brokers bool
	// SeparateCluster: its webhooks see every pod, so tests and local clusters run it apart from the others.
	SeparateCluster bool
}

// All schedulers in order of preference: a job that names none gets the first that the cluster serves. A
// cluster with Volcano has it for gangs. Kubernetes' own scheduler preempts whole gangs, scheduler-plugins
// does not.
func All() []Entry {
	return []Entry{
		{
			Name: v1alpha1.SchedulerVolcano, Title: "Volcano", PodSchedulerName: "volcano",
			QueueKey: v1alpha1.AnnotationVolcanoQueue, Brokers: true,
		},
		{
			Name: v1alpha1.SchedulerKueue, Title: "Kueue", QueueKey: v1alpha1.LabelKueueQueue,
			SeparateCluster: true,
		},
		{
			Name: v1alpha1.SchedulerNative, Title: "Kubernetes' own scheduler",
			PodSchedulerName: corev1.DefaultSchedulerName, Brokers: true,
		},
		{
			Name: v1alpha1.SchedulerCoscheduling, Title: "scheduler-plugins' Coscheduling",
			PodSchedulerName: "scheduler-plugins-scheduler", Brokers: true,
		},
	}
}

// DefaultQueue returns the queue of a scheduler's gangs that name none; "" if they are in no queue.
// Volcano's is that of its flag --default-queue.
func DefaultQueue(name v1alpha1.SchedulerName) string {
	if name == v1alpha1.SchedulerVolcano {
		return "default"
	}
	return ""
}

// Names of all schedulers.
func Names() []string { return namesOf(func(Entry) bool { return true }) }

// Brokers are the names of those for which the operator can choose the victims.
func Brokers() []string { return namesOf(func(e Entry) bool { return e.Brokers }) }

// Together are the names of those that one cluster can run side by side.
func Together() []string { return namesOf(func(e Entry) bool { return !e.SeparateCluster }) }

// Find returns the entry of a name, and false for a name that is unknown.
func Find(name string) (Entry, bool) {
	for _, e := range All() {
		if string(e.Name) == name {
			return e, true
		}
	}
	return Entry{}, false
}

func namesOf(include func(Entry) bool) (names []string) {
	for _, e := range All() {
		if include(e) {
			names = append(names, string(e.Name))
		}
	}
	return names
}
