package api_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// inWorker changes the pod template of the Workers.
func inWorker(edit func(*corev1.PodTemplateSpec)) func(*v1alpha1.TrainingJob) {
	return editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) { edit(&r.Template) })
}

const workerTemplate = "spec.replicaSpecs.Worker.template"

// admissionSpecs are jobs whose pods would pass the scheduler, its queues or its quotas by.
func admissionSpecs() map[string]spec {
	refused := func(field, says string, edit func(*corev1.PodTemplateSpec)) spec {
		return spec{
			reason: "it passes the scheduler by", full: true, edit: inWorker(edit),
			fields: []string{workerTemplate + "." + field}, says: says,
		}
	}
	label := func(key string) spec {
		return refused("metadata.labels."+key, "a gang queues as one", func(t *corev1.PodTemplateSpec) {
			t.Labels = map[string]string{key: "other", "team": "a"}
		})
	}
	annotation := func(key string) spec {
		return refused("metadata.annotations."+key, "a gang queues as one", func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{key: "other"}
		})
	}
	all := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return map[string]spec{
		"a node's name": refused("spec.nodeName", "set nodeSelector or affinity",
			func(t *corev1.PodTemplateSpec) { t.Spec.NodeName = "gpu-1" }),
		"another group": refused("spec.schedulingGroup", "a group of its own",
			func(t *corev1.PodTemplateSpec) {
				t.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("other")}
			}),
		"a priority by number": refused("spec.priority", "set spec.runPolicy.schedulingPolicy.priorityClass",
			func(t *corev1.PodTemplateSpec) { t.Spec.Priority = new(int32(7)) }),
		"a host name that overrides": refused("spec.hostnameOverride", "ranks are named after the job",
			func(t *corev1.PodTemplateSpec) { t.Spec.HostnameOverride = new("me") }),
		"an ephemeral container": refused("spec.ephemeralContainers", "kubectl debug",
			func(t *corev1.PodTemplateSpec) {
				t.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
					EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "shell", Image: "shell:1"},
				}}
			}),
		"a toleration of everything": refused("spec.tolerations.0.key", "give the key of the taint",
			func(t *corev1.PodTemplateSpec) { t.Spec.Tolerations = all }),
		"a toleration of everything, simple form": {
			reason: "it passes drains by", edit: func(j *v1alpha1.TrainingJob) { j.Spec.Tolerations = all },
			fields: []string{"spec.tolerations.0.key"}, says: "give the key of the taint",
		},
		"a toleration of one taint": {
			reason: "GPU nodes are tainted", edit: func(j *v1alpha1.TrainingJob) {
				j.Spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
			},
		},
		"a class on a template": refused("spec.priorityClassName", "spec.runPolicy.schedulingPolicy.priorityClass",
			func(t *corev1.PodTemplateSpec) { t.Spec.PriorityClassName = "high" }),
		"a system class": {
			reason: "nothing preempts it", edit: scheduling(func(p *v1alpha1.SchedulingPolicy) {
				p.PriorityClass = "system-cluster-critical"
			}),
			fields: []string{"spec.runPolicy.schedulingPolicy.priorityClass"}, says: "name another one",
		},
		"a pod group of Kueue":      label("kueue.x-k8s.io/pod-group-name"),
		"a prebuilt Workload":       label("kueue.x-k8s.io/prebuilt-workload-name"),
		"a group of coscheduling":   label("scheduling.x-k8s.io/pod-group"),
		"an old coscheduling group": label("pod-group.scheduling.sigs.k8s.io"),
		"a group of Volcano":        annotation("scheduling.k8s.io/group-name"),
		"a Workload of Kueue":       annotation("kueue.x-k8s.io/workload"),
		"a second group of Volcano": annotation("scheduling.volcano.sh/group-name"),
		"a topology is no membership": {
			reason: "Kueue reads it from the template", full: true, edit: inWorker(func(t *corev1.PodTemplateSpec) {
				t.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": "rack"}
			}),
		},
		"a queue of Kueue at scheduler volcano": {
			reason: "it would pass Kueue's quota by",
			edit: func(j *v1alpha1.TrainingJob) {
				queues("", "research", "")(j)
				j.Spec.RunPolicy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerVolcano
			},
			fields: []string{queueLabel}, says: "whose quota scheduler volcano does not know",
		},
	}
}

// sizeSpecs are jobs at the bounds of their lists, and one element above them.
func sizeSpecs() map[string]spec {
	env := func(n int) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			for i := range n {
				j.Spec.Env = append(j.Spec.Env, corev1.EnvVar{Name: fmt.Sprintf("V%d", i)})
			}
		}
	}
	containers := func(t *corev1.PodTemplateSpec, n int) {
		for i := range n {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{
				Name: fmt.Sprintf("c%d", i), Image: "i:1",
			})
		}
	}
	inits := func(t *corev1.PodTemplateSpec, n int) {
		for i := range n {
			t.Spec.InitContainers = append(t.Spec.InitContainers, corev1.Container{
				Name: fmt.Sprintf("i%d", i), Image: "i:1",
			})
		}
	}
	volumes := func(n int) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			for i := range n {
				j.Spec.Volumes = append(j.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", i)})
			}
		}
	}
	words := func(n int) []string { return make([]string, n) }
	return map[string]spec{
		"256 variables": {reason: "the bound", edit: env(256)},
		"257 variables": {
			reason: "memory is the operator's", edit: env(257), fields: []string{"spec.env"}, says: "256",
		},
		"64 volumes": {reason: "the bound", edit: volumes(64)},
		"65 volumes": {
			reason: "memory is the operator's", edit: volumes(65), fields: []string{"spec.volumes"}, says: "64",
		},
		"257 words": {
			reason: "memory is the operator's", says: "256", fields: []string{"spec.command", "spec.args"},
			edit: func(j *v1alpha1.TrainingJob) { j.Spec.Command, j.Spec.Args = words(257), words(257) },
		},
		"16 containers": {
			reason: "the bound", full: true,
			edit: inWorker(func(t *corev1.PodTemplateSpec) { containers(t, 15) }),
		},
		"17 containers": {
			reason: "memory is the operator's", full: true,
			edit:   inWorker(func(t *corev1.PodTemplateSpec) { containers(t, 16) }),
			fields: []string{workerTemplate + ".spec.containers"}, says: "16",
		},
		"33 containers over all roles": {
			reason: "memory is the operator's", full: true,
			edit:   inWorker(func(t *corev1.PodTemplateSpec) { containers(t, 15); inits(t, 16) }),
			fields: []string{"spec.replicaSpecs"}, says: "more than 32 containers",
		},
		"65 tolerations": {
			reason: "memory is the operator's", full: true,
			edit: inWorker(func(t *corev1.PodTemplateSpec) {
				for i := range 65 {
					t.Spec.Tolerations = append(t.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprintf("k%d", i)})
				}
			}),
			fields: []string{workerTemplate + ".spec.tolerations"}, says: "64",
		},
	}
}
