package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	volcanobatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// volcanoRoles are the roles of tasks by their usual names, which Volcano's plugins and examples have too.
var volcanoRoles = map[string]v1alpha1.Role{
	"master": v1alpha1.RoleMaster, "mpimaster": v1alpha1.RoleLauncher, "launcher": v1alpha1.RoleLauncher,
	"chief": v1alpha1.RoleChief, "ps": v1alpha1.RolePS, "pserver": v1alpha1.RolePS,
	"evaluator": v1alpha1.RoleEvaluator,
	"scheduler": v1alpha1.RoleScheduler, "server": v1alpha1.RoleServer,
	"worker": v1alpha1.RoleWorker, "mpiworker": v1alpha1.RoleWorker,
}

// volcano is the conversion of one Volcano Job.
type volcano struct {
	*conversion
	job  *v1alpha1.TrainingJob
	from *volcanobatch.JobSpec
	// roles and templates of from.Tasks, by their position there, and paths in the document.
	roles     []v1alpha1.Role
	templates []*corev1.PodTemplateSpec
	paths     []*field.Path
	// launcher is the name of the task that starts the processes of MPI; empty: none does.
	launcher string
}

// volcanoJob converts batch.volcano.sh/v1alpha1 Job, by the types of volcano.sh/apis. Defaults:
// pkg/webhooks/admission/jobs/mutate/mutate_job.go (Volcano 1.14.1).
func volcanoJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from := decode[volcanobatch.Job](&c.report, doc)
	if from == nil {
		return nil
	}
	job := &v1alpha1.TrainingJob{ObjectMeta: c.metadata(from.ObjectMeta)}
	v := &volcano{conversion: c, job: job, from: &from.Spec}
	if _, has := doc.tree["status"]; has {
		c.warn(field.NewPath("status"), "is what the other system has observed: it is left out")
	}
	path := field.NewPath("spec")
	if len(v.from.Tasks) == 0 {
		c.fail(path.Child("tasks"), "the job has no task: add one")
		return nil
	}
	v.scheduling(path)
	v.frameworkOfPlugins(path.Child("plugins"))
	if len(v.errors) > 0 || !v.tasks(path.Child("tasks")) {
		return nil
	}
	v.minimum(path)
	v.policies(path)
	v.hostNames()
	v.volumes(path.Child("volumes"))
	v.plugins(path.Child("plugins"))
	for i, role := range v.roles {
		spec := v.job.Spec.ReplicaSpecs[role]
		spec.Template = *v.templates[i]
		v.job.Spec.ReplicaSpecs[role] = spec
	}
	return v.job
}

// scheduling writes queue, minimum, retries and priority, with Volcano's defaults.
func (v *volcano) scheduling(path *field.Path) {
	from, policy := v.from, &v.job.Spec.RunPolicy
	policy.CleanPodPolicy = v1alpha1.CleanPodRunning // state/util.go, PodRetainPhaseSoft
	policy.TTLSecondsAfterFinished = from.TTLSecondsAfterFinished
	policy.BackoffLimit = new(cmp.Or(from.MaxRetry, defaultBackoffLimit))
	policy.SchedulingPolicy = v1alpha1.SchedulingPolicy{
		Queue: cmp.Or(from.Queue, "default"), PriorityClass: from.PriorityClassName,
	}
	v.scheduler(v.job, cmp.Or(from.SchedulerName, "volcano"), path.Child("schedulerName"))
	if n := from.MinSuccess; n != nil && *n != v.ranks() {
		v.warn(path.Child("minSuccess"), noCounterpart+": the leader decides, else every Worker")
	}
	if from.RunningEstimate != nil {
		v.warn(path.Child("runningEstimate"), noCounterpart)
	}
	v.networkTopology(v.job, from.NetworkTopology, path.Child("networkTopology"))
}

// ranks of all tasks.
func (v *volcano) ranks() int32 {
	var n int32
	for _, task := range v.from.Tasks {
		n += task.Replicas
	}
	return n
}

// minimum is how many ranks start together. The job's minAvailable is the sum of its tasks' by default. Below
// that sum, Volcano counts ranks whatever their task (api/job_info.go, CheckTaskReady, Volcano 1.14.1); above
// it, both hold, of which the TrainingJob API knows one.
func (v *volcano) minimum(path *field.Path) {
	var sum int32
	for _, task := range v.from.Tasks {
		sum += *cmp.Or(task.MinAvailable, &task.Replicas)
	}
	least := cmp.Or(v.from.MinAvailable, sum)
	switch {
	case least == v.ranks():
	case least != sum:
		v.job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = &least
		if least > sum {
			v.warn(path.Child("minAvailable"), "the minAvailable of single tasks "+noCounterpart+" next to that of "+
				"the job, which counts all ranks")
		}
	default:
		for i, task := range v.from.Tasks {
			role := v.job.Spec.ReplicaSpecs[v.roles[i]]
			role.MinAvailable = task.MinAvailable
			v.job.Spec.ReplicaSpecs[v.roles[i]] = role
		}
	}
	if v.job.Spec.Framework == v1alpha1.FrameworkMPI {
		v.loneLauncher(v.job, path.Child("tasks"))
		v.gangOfMPI(v.job, path.Child("minAvailable"))
	}
}

// tasks makes a role of each task. It reports whether all of them have one.
func (v *volcano) tasks(path *field.Path) bool {
	v.job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	var kept []volcanobatch.TaskSpec
	ok := true
	for i, task := range v.from.Tasks {
		at := path.Index(i)
		if task.Name == "" {
			task.Name = fmt.Sprintf("%s%d", volcanobatch.DefaultTaskSpec, i)
		}
		if task.Replicas == 0 {
			v.warn(at.Child("replicas"), "a task without ranks has no counterpart and is left out")
			continue
		}
		role := v.roleOf(task.Name)
		if _, twice := v.job.Spec.ReplicaSpecs[role]; twice {
			v.fail(at.Child("name"), "%s would be a second role %s: rename the task to master, chief, launcher, "+
				"scheduler, server, ps, worker or evaluator", task.Name, role)
			ok = false
			continue
		}
		v.taskFields(task, at)
		v.job.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{
			Replicas: new(task.Replicas), RestartPolicy: v.restartPolicy(task, at),
		}
		template := task.Template.DeepCopy()
		v.template(v.job, template, at.Child("template"))
		if v.job.Spec.Framework == v1alpha1.FrameworkMPI {
			pod := &template.Spec
			v.mpiCommand(role, pod, mainContainer(pod, ""), "", at.Child("template", "spec"))
		}
		v.roles, v.templates, v.paths = append(v.roles, role), append(v.templates, template), append(v.paths, at)
		kept = append(kept, task)
	}
	v.from.Tasks = kept
	v.settleRestarts(v.job, func(role v1alpha1.Role) *field.Path {
		return v.paths[slices.Index(v.roles, role)]
	})
	return ok
}

// roleOf is the role of a task. An unusual name is a Worker's.
func (v *volcano) roleOf(name string) v1alpha1.Role {
	role, known := volcanoRoles[strings.ToLower(name)]
	switch {
	case v.launcher != "" && name == v.launcher:
		return v1alpha1.RoleLauncher
	case !known:
		return v1alpha1.RoleWorker
	case role == v1alpha1.RoleMaster && v.job.Spec.Framework == v1alpha1.FrameworkMPI:
		return v1alpha1.RoleLauncher
	}
	return role
}

// taskFields warns of what a task says beyond its pods.
func (v *volcano) taskFields(task volcanobatch.TaskSpec, at *field.Path) {
	if task.MaxRetry != 0 {
		v.warn(at.Child("maxRetry"), noCounterpart+": the job's maxRetry counts the failures of all ranks")
	}
	if task.TopologyPolicy != "" && task.TopologyPolicy != volcanobatch.None {
		v.warn(at.Child("topologyPolicy"), noCounterpart+": the kubelet's topology manager decides")
	}
	if task.DependsOn != nil {
		v.warn(at.Child("dependsOn"), noCounterpart+": all ranks start together")
	}
	if task.PartitionPolicy != nil {
		v.warn(at.Child("partitionPolicy"), noCounterpart)
	}
}
