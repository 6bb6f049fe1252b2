package convert

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const kubeflowV1 = "kubeflow.org/v1"

// kubeflowReplica is Kubeflow's ReplicaSpec (pkg/apis/kubeflow.org/v1/common_types.go, training-operator
// v1.9.3). The types of this package are its own: the module would bring its operator's dependencies.
type kubeflowReplica struct {
	Replicas      *int32                 `json:"replicas"`
	Template      corev1.PodTemplateSpec `json:"template"`
	RestartPolicy v1alpha1.RestartPolicy `json:"restartPolicy"`
}

// kubeflowRunPolicy is Kubeflow's RunPolicy (same file). That of mpi-operator v0.8.2 has the same fields.
type kubeflowRunPolicy struct {
	CleanPodPolicy          v1alpha1.CleanPodPolicy   `json:"cleanPodPolicy"`
	TTLSecondsAfterFinished *int32                    `json:"ttlSecondsAfterFinished"`
	ActiveDeadlineSeconds   *int64                    `json:"activeDeadlineSeconds"`
	BackoffLimit            *int32                    `json:"backoffLimit"`
	SchedulingPolicy        *kubeflowSchedulingPolicy `json:"schedulingPolicy"`
	Suspend                 *bool                     `json:"suspend"`
	ManagedBy               *string                   `json:"managedBy"`
}

type kubeflowSchedulingPolicy struct {
	MinAvailable           *int32              `json:"minAvailable"`
	Queue                  string              `json:"queue"`
	MinResources           corev1.ResourceList `json:"minResources"`
	PriorityClass          string              `json:"priorityClass"`
	ScheduleTimeoutSeconds *int32              `json:"scheduleTimeoutSeconds"`
}

// kubeflowKind is what differs between Kubeflow's kinds.
type kubeflowKind struct {
	framework v1alpha1.Framework
	// field of spec that holds the replicas.
	field string
	roles []v1alpha1.Role
	// container that trains; else the first. names are those by which the framework finds it.
	container string
	names     []string
	// port that the container gets under portName unless it has one; 0: none.
	portName string
	port     int32
	// implementation of MPI; empty: Open MPI.
	implementation v1alpha1.MPIImplementation
	// restartPolicy of a role by default, and replicas, where they are not OnFailure or Never and 1.
	restartPolicy func(v1alpha1.Role) v1alpha1.RestartPolicy
	replicas      func(v1alpha1.Role) int32
}

// Controllers of spec.runPolicy.managedBy (common_types.go, and mpi-operator's types.go).
var kubeflowControllers = []string{"", "kubeflow.org/training-operator", "kubeflow.org/mpi-operator"}

func always[T any](value T) func(v1alpha1.Role) T { return func(v1alpha1.Role) T { return value } }

// kubeflowJob fills in what all of Kubeflow's kinds have: roles, restarts and run policy.
func (c *conversion) kubeflowJob(
	job *v1alpha1.TrainingJob, kind kubeflowKind, replicas map[string]kubeflowReplica, policy kubeflowRunPolicy,
) {
	job.Spec.Framework = kind.framework
	c.kubeflowRunPolicy(job, policy)
	names := c.kubeflowRoles(job, kind, replicas)
	path := field.NewPath("spec", kind.field)
	c.settleRestarts(job, func(role v1alpha1.Role) *field.Path {
		return path.Key(names[role]).Child("restartPolicy")
	})
	c.limitRestarts(job, field.NewPath("spec", "runPolicy", "backoffLimit"))
}

// kubeflowRoles returns how the document writes each role's name: Kubeflow takes them in any case.
func (c *conversion) kubeflowRoles(
	job *v1alpha1.TrainingJob, kind kubeflowKind, replicas map[string]kubeflowReplica,
) map[v1alpha1.Role]string {
	path := field.NewPath("spec", kind.field)
	if len(replicas) == 0 {
		c.fail(path, "the job has no replicas: add a Worker")
	}
	names := map[v1alpha1.Role]string{}
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for _, name := range sortedKeys(replicas) {
		at, from := path.Key(name), replicas[name]
		role, known := kind.role(name)
		if _, twice := names[role]; known && twice {
			c.fail(at, "is given together with %q, which is the same role", names[role])
			continue
		}
		if !known {
			c.fail(at, "is no role of this kind: it knows %v", kind.roles)
			continue
		}
		names[role] = name
		count := kind.replicas(role)
		if from.Replicas != nil {
			count = *from.Replicas
		}
		if count == 0 {
			c.warn(at.Child("replicas"), "a role without ranks has no counterpart and is left out")
			continue
		}
		if own := from.Template.Spec.RestartPolicy; own != "" && string(own) != string(from.RestartPolicy) {
			c.warn(at.Child("template", "spec", "restartPolicy"), "Kubeflow uses the role's restartPolicy "+
				"instead, and so does the TrainingJob")
		}
		c.template(job, &from.Template, at.Child("template"))
		main := mainContainer(&from.Template.Spec, kind.container)
		if kind.framework == v1alpha1.FrameworkMPI {
			c.mpiCommand(role, &from.Template.Spec, main, kind.implementation, at.Child("template", "spec"))
		}
		if kind.port != 0 {
			addPort(main, kind.portName, kind.port)
		}
		c.markTrainer(&from.Template.Spec, main, kind.names, at.Child("template", "spec"))
		job.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{
			Replicas:      &count,
			RestartPolicy: cmp.Or(from.RestartPolicy, kind.restartPolicy(role)),
			Template:      from.Template,
		}
	}
	return names
}

func (k kubeflowKind) role(name string) (v1alpha1.Role, bool) {
	for _, role := range k.roles {
		if strings.EqualFold(name, string(role)) {
			return role, true
		}
	}
	return "", false
}

func (c *conversion) kubeflowRunPolicy(job *v1alpha1.TrainingJob, from kubeflowRunPolicy) {
	path, to := field.NewPath("spec", "runPolicy"), &job.Spec.RunPolicy
	to.CleanPodPolicy = cmp.Or(from.CleanPodPolicy, v1alpha1.CleanPodNone)
	to.TTLSecondsAfterFinished = from.TTLSecondsAfterFinished
	to.ActiveDeadlineSeconds = from.ActiveDeadlineSeconds
	to.BackoffLimit = from.BackoffLimit
	to.Suspend = from.Suspend
	if s := from.SchedulingPolicy; s != nil {
		to.SchedulingPolicy = v1alpha1.SchedulingPolicy{
			MinAvailable: s.MinAvailable, Queue: s.Queue, MinResources: s.MinResources,
			PriorityClass: s.PriorityClass, ScheduleTimeoutSeconds: s.ScheduleTimeoutSeconds,
		}
	}
	if from.ManagedBy == nil {
		return
	}
	switch by := *from.ManagedBy; {
	case by == v1alpha1.ManagedByMultiKueue:
		job.Spec.ManagedBy = by
	case !slices.Contains(kubeflowControllers, by):
		c.warn(path.Child("managedBy"), "%q is a controller of the other system: this operator runs the job", by)
	}
}

// updateTrainers changes the trainer of every role.
func updateTrainers(
	job *v1alpha1.TrainingJob, container string, update func(v1alpha1.Role, *corev1.Container),
) {
	for _, name := range sortedKeys(job.Spec.ReplicaSpecs) {
		role := job.Spec.ReplicaSpecs[name]
		if main := mainContainer(&role.Template.Spec, container); main != nil {
			update(name, main)
		}
	}
}
