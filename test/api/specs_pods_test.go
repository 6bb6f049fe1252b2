package api_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func schedulingSpecs() map[string]spec {
	return map[string]spec{
		"minAvailable of the ranks": {
			reason: "all of them", edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.MinAvailable = ptr.To[int32](8)
			}),
		},
		"minAvailable above the ranks": {
			reason: "it could never start",
			edit:   scheduling(func(p *v1alpha1.SchedulingPolicy) { p.MinAvailable = ptr.To[int32](9) }),
			fields: []string{minAvailableField}, says: "minAvailable 9 exceeds the 8 ranks: set it to at most 8",
		},
		"minAvailable above the roles' sum": {
			reason: "it could never start", full: true,
			edit:   scheduling(func(p *v1alpha1.SchedulingPolicy) { p.MinAvailable = ptr.To[int32](9) }),
			fields: []string{minAvailableField}, says: "minAvailable 9 exceeds the 8 ranks: set it to at most 8",
		},
		"minAvailable above the default of one rank": {
			reason: "the default counts too",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Replicas, j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = nil, ptr.To[int32](2)
			},
			fields: []string{minAvailableField}, says: "exceeds the 1 ranks",
		},
		"minAvailable above no ranks": {
			reason: "both fields are named, in words",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Replicas, j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr.To[int32](0), ptr.To[int32](2)
			},
			fields: []string{"spec.replicas", minAvailableField}, says: "minAvailable 2 exceeds the 0 ranks",
		},
		"minAvailable 0": {
			reason: "a gang of none", edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.MinAvailable = ptr.To[int32](0)
			}),
			fields: []string{minAvailableField}, says: "1",
		},
		"an unknown scheduler": {
			reason: "no scheduler would place it",
			edit:   scheduling(func(p *v1alpha1.SchedulingPolicy) { p.Scheduler = "yunikorn" }),
			fields: []string{"spec.runPolicy.schedulingPolicy.scheduler"}, says: `supported values: "`,
		},
		"a negative timeout": {
			reason: "means nothing", edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.ScheduleTimeoutSeconds = ptr.To[int32](-5)
			}),
			fields: []string{"spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds"}, says: "1",
		},
		"a timeout of 0": {
			reason: "it would never be placed",
			edit:   scheduling(func(p *v1alpha1.SchedulingPolicy) { p.ScheduleTimeoutSeconds = ptr.To[int32](0) }),
			fields: []string{"spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds"}, says: "1",
		},
		"a queue": {
			reason: "legal", edit: scheduling(func(p *v1alpha1.SchedulingPolicy) { p.Queue = "team-a.research" }),
		},
		"no queue's name": {
			reason: "no such queue can exist",
			edit:   scheduling(func(p *v1alpha1.SchedulingPolicy) { p.Queue = "Team A" }),
			fields: []string{queueField}, says: "lower-case letters",
		},
		"no PriorityClass's name": {
			reason: "no such class can exist",
			edit:   scheduling(func(p *v1alpha1.SchedulingPolicy) { p.PriorityClass = "-high" }),
			fields: []string{"spec.runPolicy.schedulingPolicy.priorityClass"}, says: "lower-case letters",
		},
		"a queue at the native scheduler": {
			reason: "it has no queues",
			edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.Scheduler,
					p.Queue = v1alpha1.SchedulerNative, "research"
			}),
			fields: []string{queueField}, says: "has no queues: remove the queue, or use scheduler volcano",
		},
		"a queue label at the native scheduler": {
			reason: "it would pass Kueue's quota by",
			edit: func(j *v1alpha1.TrainingJob) {
				queues("", "research", "")(j)
				j.Spec.RunPolicy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerNative
			},
			fields: []string{queueLabel}, says: "whose quota scheduler native does not know",
		},
		"minResources at the native scheduler": {
			reason: "it takes no notice",
			edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.Scheduler,
					p.MinResources = v1alpha1.SchedulerNative, gpus("8")
			}),
			fields: []string{"spec.runPolicy.schedulingPolicy.minResources"}, says: "remove it, or use " +
				"scheduler volcano",
		},
		"a queue at scheduler coscheduling": {
			reason: "it has no queues",
			edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.Scheduler,
					p.Queue = v1alpha1.SchedulerCoscheduling, "research"
			}),
			fields: []string{queueField}, says: "has no queues: remove the queue, or use scheduler volcano",
		},
		"a queue label at scheduler coscheduling": {
			reason: "it would pass Kueue's quota by",
			edit: func(j *v1alpha1.TrainingJob) {
				queues("", "research", "")(j)
				j.Spec.RunPolicy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerCoscheduling
			},
			fields: []string{queueLabel}, says: "whose quota scheduler coscheduling does not know",
		},
		"minResources at scheduler coscheduling": {
			reason: "they would do harm",
			edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.Scheduler, p.MinResources = v1alpha1.SchedulerCoscheduling, gpus("8")
			}),
			fields: []string{"spec.runPolicy.schedulingPolicy.minResources"}, says: "remove it, or use " +
				"scheduler volcano",
		},
		"negative minResources": {
			reason: "means nothing", edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.MinResources = gpus("-8")
			}),
			fields: []string{"spec.runPolicy.schedulingPolicy.minResources.nvidia.com/gpu"}, says: "is negative",
		},
		"the same queue three times": {reason: "nothing contradicts",
			edit: queues("research", "research", "research")},
		"queues that differ, spec and label": {
			reason: "in which would it wait?", edit: queues("research", "other", ""),
			fields: []string{queueLabel}, says: "remove one of the two",
		},
		"queues that differ, spec and annotation": {
			reason: "in which would it wait?", edit: queues("research", "", "other"),
			fields: []string{queueAnnotation}, says: "remove one of the two",
		},
		"queues that differ, label and annotation": {
			reason: "in which would it wait?", edit: queues("", "research", "other"),
			fields: []string{queueAnnotation}, says: "remove one of the two",
		},
		"a label that no queue can have": {
			reason: "no such queue can exist", edit: queues("", "Team_A", ""),
			fields: []string{queueLabel}, says: "lower-case letters",
		},
	}
}

func nameSpecs() map[string]spec {
	named := func(name string, replicas int32) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Name, j.Spec.Replicas = name, &replicas }
	}
	return map[string]spec{
		"the longest name": {reason: "54 + len(-worker-0) = 63", edit: named(longName(54), 10)},
		"one character more": {
			reason: "<name>-worker-0 has 64", edit: named(longName(55), 10),
			fields: []string{"metadata.name"}, says: "shorten it to 54",
		},
		"one digit more": {
			reason: "<name>-worker-10 has 64", edit: named(longName(54), 11),
			fields: []string{"metadata.name"}, says: "shorten it to 53",
		},
		"the longest role decides": {
			reason: "-evaluator-0 is longer than -worker-9", full: true,
			edit: func(j *v1alpha1.TrainingJob) {
				roles(v1alpha1.FrameworkCustom, map[v1alpha1.Role]int32{"Worker": 10, "Evaluator": 1})(j)
				j.Name = longName(52)
			},
			fields: []string{"metadata.name"}, says: "shorten it to 51",
		},
		"far too long": {
			reason: "one sentence is enough", edit: named(longName(80), 1),
			fields: []string{"metadata.name"}, says: "shorten it to 54",
		},
		"a name with a dot": {
			reason: "it becomes host names", edit: named("bert.v2", 1),
			fields: []string{"metadata.name"}, says: "lower-case letters, digits and '-'",
		},
		"a name that begins with a digit": {
			reason: "a Service's name begins with a letter", edit: named("2024-bert", 1),
			fields: []string{"metadata.name"}, says: "beginning with a letter",
		},
	}
}

func podSpecs() map[string]spec {
	worker := func(edit func(*corev1.PodTemplateSpec)) func(*v1alpha1.TrainingJob) {
		return editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) { edit(&r.Template) })
	}
	container := func(edit func(*corev1.Container)) func(*v1alpha1.TrainingJob) {
		return worker(func(t *corev1.PodTemplateSpec) { edit(&t.Spec.Containers[0]) })
	}
	initContainer := func(edit func(*corev1.Container)) func(*v1alpha1.TrainingJob) {
		return worker(func(t *corev1.PodTemplateSpec) {
			c := corev1.Container{Name: "proxy", Image: "proxy:1"}
			edit(&c)
			t.Spec.InitContainers = []corev1.Container{c}
		})
	}
	const template = "spec.replicaSpecs.Worker.template"
	const first = template + ".spec.containers.0"
	return map[string]spec{
		"a queue label on a pod template": {
			reason: "the gang queues, not its pods", full: true,
			edit: worker(func(t *corev1.PodTemplateSpec) {
				t.Labels = map[string]string{v1alpha1.LabelKueueQueue: "research"}
			}),
			// The CRD's rule names the map of roles.
			fields: []string{template + ".metadata.labels.kueue.x-k8s.io/queue-name"}, says: "a gang queues as one",
		},
		"a queue annotation on a pod template": {
			reason: "the gang queues, not its pods", full: true,
			edit: worker(func(t *corev1.PodTemplateSpec) {
				t.Annotations = map[string]string{v1alpha1.AnnotationVolcanoQueue: "research"}
			}),
			fields: []string{template + ".metadata.annotations.scheduling.volcano.sh/queue-name"},
			says:   "a gang queues as one",
		},
		"other labels on a pod template": {
			reason: "they are the user's", full: true,
			edit: worker(func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"team": "research"} }),
		},
		"no container": {
			reason: "no pod without one", full: true,
			edit:   worker(func(t *corev1.PodTemplateSpec) { t.Spec.Containers = []corev1.Container{} }),
			fields: []string{template + ".spec.containers"}, says: "add one",
		},
		"a scheduler in a pod template": {
			reason: "the operator decides it, and nothing is ignored", full: true,
			edit:   worker(func(t *corev1.PodTemplateSpec) { t.Spec.SchedulerName = "volcano" }),
			fields: []string{template + ".spec.schedulerName"}, says: "set spec.runPolicy.schedulingPolicy.scheduler",
		},
		"a restart policy in a pod template": {
			reason: "the operator decides it, and nothing is ignored", full: true,
			edit:   worker(func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyNever }),
			fields: []string{template + ".spec.restartPolicy"}, says: "set the role's restartPolicy",
		},
		"a restart policy of a container": {
			reason: "a rank that restarts alone never meets its gang again", full: true,
			edit: container(func(c *corev1.Container) {
				c.RestartPolicy = new(corev1.ContainerRestartPolicyOnFailure)
			}),
			fields: []string{first + ".restartPolicy"}, says: "set the role's restartPolicy",
		},
		"restart rules of a container": {
			reason: "a rank that restarts alone never meets its gang again", full: true,
			edit: container(func(c *corev1.Container) {
				c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}
			}),
			fields: []string{first + ".restartPolicyRules"}, says: "set the role's restartPolicy",
		},
		"a native sidecar": {
			reason: "the kubelet restarts it, and ends it with the trainer", full: true,
			edit: initContainer(func(c *corev1.Container) {
				c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
			}),
		},
		"an init container with another restart policy": {
			reason: "its failure is the rank's", full: true,
			edit: initContainer(func(c *corev1.Container) {
				c.RestartPolicy = new(corev1.ContainerRestartPolicyOnFailure)
			}),
			fields: []string{template + ".spec.initContainers.0.restartPolicy"}, says: "set the role's restartPolicy",
		},
		"restart rules of a native sidecar": {
			reason: "a rule can restart all containers of the pod", full: true,
			edit: initContainer(func(c *corev1.Container) {
				c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
				c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}
			}),
			fields: []string{template + ".spec.initContainers.0.restartPolicyRules"},
			says:   "set the role's restartPolicy",
		},
		"a host name in a pod template": {
			reason: "the operator decides it, and nothing is ignored", full: true,
			edit:   worker(func(t *corev1.PodTemplateSpec) { t.Spec.Hostname = "me" }),
			fields: []string{template + ".spec.hostname"}, says: "ranks are named after the job",
		},
		"a subdomain in a pod template": {
			reason: "the operator decides it, and nothing is ignored", full: true,
			edit:   worker(func(t *corev1.PodTemplateSpec) { t.Spec.Subdomain = "us" }),
			fields: []string{template + ".spec.subdomain"}, says: "ranks share the job's Service",
		},
		"a container without image": {
			reason: "every pod would be refused", full: true,
			edit:   container(func(c *corev1.Container) { c.Image = "" }),
			fields: []string{first + ".image"}, says: "needs an image",
		},
		"two containers of one name": {
			reason: "every pod would be refused", full: true,
			edit: worker(func(t *corev1.PodTemplateSpec) {
				t.Spec.InitContainers = []corev1.Container{{Name: "pytorch", Image: "init:1"}}
			}),
			fields: []string{first + ".name"}, says: "rename one",
		},
		"a mount without volume": {
			reason: "every pod would be refused",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
			},
			fields: []string{"spec.volumeMounts.0.name"}, says: "add it to volumes",
		},
		"GPUs in requests alone": {
			reason: "they are copied to limits",
			edit:   func(j *v1alpha1.TrainingJob) { j.Spec.Resources.Requests = gpus("2") },
		},
		"GPUs that differ": {
			reason: "every pod would be refused",
			edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Resources = corev1.ResourceRequirements{Requests: gpus("2"), Limits: gpus("4")}
			},
			fields: []string{"spec.resources.requests.nvidia.com/gpu"}, says: "must equal the limit",
		},
		"half a GPU": {
			reason: "every pod would be refused", full: true,
			edit:   container(func(c *corev1.Container) { c.Resources.Limits = gpus("500m") }),
			fields: []string{first + ".resources.limits.nvidia.com/gpu"}, says: "whole number",
		},
	}
}
