package convert

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// schedulerOfPods returns the scheduler of pods with a schedulerName, and false for one that is unknown. It
// is empty for Kubernetes' own scheduler, which treats pods as a gang only if the user chooses that.
func schedulerOfPods(name string) (v1alpha1.SchedulerName, bool) {
	for _, e := range schedulers.All() {
		switch {
		case name == corev1.DefaultSchedulerName:
			return "", true
		case name == e.PodSchedulerName:
			return e.Name, true
		}
	}
	return "", false
}

// isQueueKey reports whether a label or annotation names a queue.
func isQueueKey(key string) bool {
	return slices.ContainsFunc(schedulers.All(), func(e schedulers.Entry) bool { return key == e.QueueKey })
}

// groupKeys are the prefixes of keys by which a scheduler finds a pod's group. The TrainingJob API refuses
// them in templates (pkg/trainingjob/validation/admission.go), topologies of Kueue's left out.
var groupKeys = []string{
	"kueue.x-k8s.io/", "scheduling.volcano.sh/", "scheduling.k8s.io/", "scheduling.x-k8s.io/",
	"pod-group.scheduling.sigs.k8s.io",
}

const topologyKeys = "kueue.x-k8s.io/podset-"

// template moves what a pod template says of its scheduler, queue and group to the job, which decides that
// for the gang, and takes out what the operator sets itself.
func (c *conversion) template(job *v1alpha1.TrainingJob, t *corev1.PodTemplateSpec, path *field.Path) {
	pod, at := &t.Spec, path.Child("spec")
	if name := pod.SchedulerName; name != "" {
		c.scheduler(job, name, at.Child("schedulerName"))
		pod.SchedulerName = ""
	}
	pod.RestartPolicy = "" // the caller has read it
	c.drop(at.Child("hostname"), &pod.Hostname, "ranks are named after the job")
	c.drop(at.Child("subdomain"), &pod.Subdomain, "ranks share the job's Service")
	c.drop(at.Child("nodeName"), &pod.NodeName, "it would bypass the scheduler; use nodeSelector or affinity")
	if pod.HostnameOverride != nil {
		c.warn(at.Child("hostnameOverride"), noCounterpart+": ranks are named after the job")
		pod.HostnameOverride = nil
	}
	if pod.SchedulingGroup != nil {
		c.warn(at.Child("schedulingGroup"), noCounterpart+": the gang has a group of its own")
		pod.SchedulingGroup = nil
	}
	if pod.Priority != nil {
		c.warn(at.Child("priority"), noCounterpart+": it comes from a PriorityClass")
		pod.Priority = nil
	}
	c.priorityClass(job, &pod.PriorityClassName, at.Child("priorityClassName"))
	if len(pod.SchedulingGates) > 0 {
		c.warn(at.Child("schedulingGates"), noCounterpart+": the gang's scheduler gates its pods")
		pod.SchedulingGates = nil
	}
	if len(pod.EphemeralContainers) > 0 {
		c.warn(at.Child("ephemeralContainers"), noCounterpart+": no new pod may have one")
		pod.EphemeralContainers = nil
	}
	c.restarts(pod.InitContainers, corev1.ContainerRestartPolicyAlways, at.Child("initContainers"))
	c.restarts(pod.Containers, "", at.Child("containers"))
	pod.Tolerations = c.tolerations(pod.Tolerations, at.Child("tolerations"))
	c.withoutReserved(job, pod, at)
	t.Labels = c.groupMetadata(job, t.Labels, path.Child("metadata", "labels"))
	t.Annotations = c.groupMetadata(job, t.Annotations, path.Child("metadata", "annotations"))
	c.templateMetadata(t, path.Child("metadata"))
}

// priorityClass moves the class of a template to the gang, unless the gang has another one.
func (c *conversion) priorityClass(job *v1alpha1.TrainingJob, class *string, path *field.Path) {
	ofGang := &job.Spec.RunPolicy.SchedulingPolicy.PriorityClass
	if *class != "" && *ofGang != "" && *class != *ofGang {
		c.warn(path, noCounterpart+": the gang has one priority class, %s", *ofGang)
	}
	*ofGang, *class = cmp.Or(*ofGang, *class), ""
}

// templateMetadata takes out what a template's metadata cannot say: pods are named by the operator.
func (c *conversion) templateMetadata(t *corev1.PodTemplateSpec, path *field.Path) {
	if t.Name != "" || t.GenerateName != "" {
		c.warn(path.Child("name"), noCounterpart+": pods are named after the job, their role and index")
	}
	if t.Namespace != "" {
		c.warn(path.Child("namespace"), noCounterpart+": pods run in the namespace of the job")
	}
	if len(t.Finalizers) > 0 || len(t.OwnerReferences) > 0 {
		c.warn(path, "finalizers and ownerReferences have no counterpart and are left out")
	}
	labels, annotations := t.Labels, t.Annotations
	t.ObjectMeta = corev1.PodTemplateSpec{}.ObjectMeta
	t.Labels, t.Annotations = labels, annotations
}

// restarts takes out how containers restart alone, except for the allowed policy.
func (c *conversion) restarts(
	containers []corev1.Container, allowed corev1.ContainerRestartPolicy, path *field.Path,
) {
	for i := range containers {
		container, at := &containers[i], path.Index(i)
		if p := container.RestartPolicy; p != nil && *p != allowed {
			c.warn(at.Child("restartPolicy"), noCounterpart+": the role's restartPolicy decides")
			container.RestartPolicy = nil
		}
		if container.RestartPolicyRules != nil {
			c.warn(at.Child("restartPolicyRules"), noCounterpart+": the role's restartPolicy decides")
			container.RestartPolicyRules = nil
		}
	}
}

func (c *conversion) drop(path *field.Path, value *string, why string) {
	if *value != "" {
		c.warn(path, noCounterpart+": %s", why)
		*value = ""
	}
}

// scheduler asks the job's scheduler for what a pod's schedulerName says.
func (c *conversion) scheduler(job *v1alpha1.TrainingJob, name string, path *field.Path) {
	scheduler, known := schedulerOfPods(name)
	policy := &job.Spec.RunPolicy.SchedulingPolicy
	switch {
	case !known:
		c.warn(path, "%q is no gang scheduler that the operator knows: set "+
			"spec.runPolicy.schedulingPolicy.scheduler", name)
	case scheduler != "" && policy.Scheduler != "" && policy.Scheduler != scheduler:
		c.fail(path, "%q: the job has scheduler %s already, and a gang has one", name, policy.Scheduler)
	case scheduler != "":
		policy.Scheduler = scheduler
	}
}

// tolerations without those of every taint, which the API refuses.
func (c *conversion) tolerations(from []corev1.Toleration, path *field.Path) []corev1.Toleration {
	var to []corev1.Toleration
	for i, t := range from {
		if t.Key == "" {
			c.warn(path.Index(i).Child("key"), "a toleration of every taint has no counterpart and is left out: "+
				"give the key of the taint that is meant")
			continue
		}
		to = append(to, t)
	}
	return to
}

// groupMetadata takes the keys out by which a scheduler would find a pod's queue or group. The job gets the
// queue.
func (c *conversion) groupMetadata(
	job *v1alpha1.TrainingJob, from map[string]string, path *field.Path,
) map[string]string {
	for _, key := range sortedKeys(from) {
		begins := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		if !slices.ContainsFunc(groupKeys, begins) || begins(topologyKeys) {
			continue
		}
		policy, value := &job.Spec.RunPolicy.SchedulingPolicy, from[key]
		switch isQueue := isQueueKey(key); {
		case isQueue && (policy.Queue == "" || policy.Queue == value):
			policy.Queue = value
		case isQueue:
			c.fail(path.Key(key), "the queue %q: the job has queue %q already, and a gang waits in one",
				value, policy.Queue)
		default:
			c.warn(path.Key(key), noCounterpart+": the gang has a group of its own")
		}
		delete(from, key)
	}
	if len(from) == 0 {
		return nil
	}
	return from
}

// mainContainer is the container that another system takes for the trainer: the one of that name, else the
// first. It is nil for a template without containers, which the API refuses.
func mainContainer(pod *corev1.PodSpec, name string) *corev1.Container {
	if len(pod.Containers) == 0 {
		return nil
	}
	return &pod.Containers[max(0, slices.IndexFunc(pod.Containers, func(c corev1.Container) bool {
		return c.Name == name
	}))]
}

// indexOf a container of the pod.
func indexOf(pod *corev1.PodSpec, container *corev1.Container) int {
	return slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == container.Name })
}

// markTrainer gives the main container the name that marks the trainer, if it would not be taken for it.
// names are those by which the framework finds its trainer.
func (c *conversion) markTrainer(
	pod *corev1.PodSpec, main *corev1.Container, names []string, path *field.Path,
) {
	f := framework.Framework{ContainerNames: names}
	if main == nil || f.Trainer(pod) == main {
		return
	}
	path = path.Child("containers")
	for i := range pod.Containers {
		if pod.Containers[i].Name == framework.TrainerContainer {
			c.fail(path.Index(i).Child("name"), "%s is the main container, but the one that is named %s would "+
				"train: rename it", main.Name, framework.TrainerContainer)
			return
		}
	}
	c.warn(path, "%s is the main container: it is renamed to %s, by which the operator finds it",
		main.Name, framework.TrainerContainer)
	main.Name = framework.TrainerContainer
}

// addPort adds a port of a name unless the container has it already.
func addPort(container *corev1.Container, name string, port int32) {
	if container == nil || slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == name
	}) {
		return
	}
	container.Ports = append(container.Ports, corev1.ContainerPort{Name: name, ContainerPort: port})
}

// addEnv adds variables that a container does not set itself.
func addEnv(container *corev1.Container, env ...corev1.EnvVar) {
	if container == nil {
		return
	}
	for _, e := range env {
		if !slices.ContainsFunc(container.Env, func(own corev1.EnvVar) bool { return own.Name == e.Name }) {
			container.Env = append(container.Env, e)
		}
	}
}

// variable is a variable with a fixed value.
func variable(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
