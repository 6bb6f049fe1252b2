package api_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// verdict is what a policy must say of a job; "" for one that it lets through.
type verdict struct {
	edit func(*v1alpha1.TrainingJob)
	full bool
	says string
}

func (v verdict) job(namespace string) *v1alpha1.TrainingJob {
	job := spec{full: v.full, edit: v.edit}.job()
	job.Namespace = namespace
	return job
}

// policy is a file with a ValidatingAdmissionPolicy, and what it must say in a namespace.
type policy struct {
	path      string
	namespace corev1.Namespace
	cases     map[string]verdict
	// refused is one of the cases that the policy refuses.
	refused string
}

func policies() []policy { return []policy{metadata(), templateKeys(), tenants(), restricted()} }

// metadata is the user's too, and in the operator's memory.
func metadata() policy {
	labels := func(n int) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Labels = map[string]string{}
			for i := range n {
				j.Labels[fmt.Sprintf("l%d", i)] = ""
			}
		}
	}
	return policy{
		path:      "deploy/admission/queues.yaml",
		namespace: corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		refused:   "129 labels",
		cases: map[string]verdict{
			"no labels":  {func(*v1alpha1.TrainingJob) {}, false, ""},
			"128 labels": {labels(128), false, ""},
			"129 labels": {labels(129), false, "at most 128 labels"},
		},
	}
}

// templateKeys: a prefix stands for keys that no list of them has.
func templateKeys() policy {
	key := func(key string) func(*v1alpha1.TrainingJob) {
		return inWorker(func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{key: "x"} })
	}
	return policy{
		path:      "deploy/admission/templates.yaml",
		namespace: corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		refused:   "a key of Kueue",
		cases: map[string]verdict{
			"a key of Kueue":     {key("kueue.x-k8s.io/new"), true, "by kueue.x-k8s.io/new, but a gang queues as one"},
			"a key of Volcano":   {key("scheduling.volcano.sh/new"), true, "remove it from the pod template"},
			"a topology":         {key("kueue.x-k8s.io/podset-preferred-topology"), true, ""},
			"a key of the users": {key("example.com/scheduling.k8s.io"), true, ""},
		},
	}
}

func tenants() policy {
	queue := func(name string, more ...func(*v1alpha1.TrainingJob)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Spec.ServiceAccountName = "trainer"
			j.Spec.RunPolicy.SchedulingPolicy.Queue = name
			for _, edit := range more {
				edit(j)
			}
		}
	}
	scheduler := func(name v1alpha1.SchedulerName) func(*v1alpha1.TrainingJob) {
		return scheduling(func(p *v1alpha1.SchedulingPolicy) { p.Scheduler = name })
	}
	class := func(name string) func(*v1alpha1.TrainingJob) {
		return scheduling(func(p *v1alpha1.SchedulingPolicy) { p.PriorityClass = name })
	}
	const notFor = `queue "prod" is not for namespace team-a: name one of research, batch`
	prod := verdict{queue("prod"), false, notFor}
	return policy{
		path: "deploy/policies/tenants.yaml",
		namespace: corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Annotations: map[string]string{
			"mlplatform.example.com/schedulers":       "volcano kueue native",
			"mlplatform.example.com/queues":           "research batch",
			"mlplatform.example.com/priority-classes": "low",
			"mlplatform.example.com/service-accounts": "trainer",
		}}},
		refused: "another queue",
		cases: map[string]verdict{
			"its queue":     {queue("research"), false, ""},
			"another queue": prod,
			"no queue":      {queue(""), false, `queue "" is not for`},
			"the queue by its label": {queue("", func(j *v1alpha1.TrainingJob) {
				j.Labels = map[string]string{v1alpha1.LabelKueueQueue: "prod"}
			}), false, `queue "prod" is not for`},
			"a scheduler without queues": {queue("", scheduler("native")), false, ""},
			"another scheduler": {queue("", scheduler("coscheduling")), false,
				"scheduler coscheduling is not for namespace team-a"},
			"its class": {queue("batch", class("low")), false, ""},
			"another class": {queue("batch", class("high")), false,
				"priority class high is not for namespace team-a: name one of low, or none"},
			"another class by Kueue's label": {queue("batch", func(j *v1alpha1.TrainingJob) {
				j.Labels = map[string]string{"kueue.x-k8s.io/priority-class": "high"}
			}), false, "priority class high is not for"},
			"the default account": {queue("batch", func(j *v1alpha1.TrainingJob) {
				j.Spec.ServiceAccountName = ""
			}), false, "service account default is not for jobs of namespace team-a"},
			"another account in a role": {func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.SchedulingPolicy.Queue = "batch"
				inWorker(func(p *corev1.PodTemplateSpec) { p.Spec.DeprecatedServiceAccount = "admin" })(j)
				editRole(v1alpha1.RoleMaster, func(r *v1alpha1.ReplicaSpec) {
					r.Template.Spec.ServiceAccountName = "trainer"
				})(j)
			}, true, "service account admin is not for"},
		},
	}
}

func restricted() policy {
	with := func(more ...func(*corev1.PodTemplateSpec)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			for _, name := range []v1alpha1.Role{v1alpha1.RoleMaster, v1alpha1.RoleWorker} {
				editRole(name, func(r *v1alpha1.ReplicaSpec) {
					r.Template.Spec.SecurityContext = &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					}
					r.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false),
						Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					}
				})(j)
			}
			for _, edit := range more {
				inWorker(edit)(j)
			}
		}
	}
	security := func(edit func(*corev1.SecurityContext)) func(*corev1.PodTemplateSpec) {
		return func(p *corev1.PodTemplateSpec) { edit(p.Spec.Containers[0].SecurityContext) }
	}
	return policy{
		path: "deploy/policies/restricted.yaml",
		namespace: corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-r", Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted",
		}}},
		refused: "the simple form",
		cases: map[string]verdict{
			"restricted": {with(func(p *corev1.PodTemplateSpec) {
				p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
					EmptyDir: &corev1.EmptyDirVolumeSource{},
				}}}
			}), true, ""},
			"not set": {func(*v1alpha1.TrainingJob) {}, true, "set runAsNonRoot: true"},
			"the host's network": {with(func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = true }), true,
				"remove hostNetwork"},
			"a host's directory": {with(func(p *corev1.PodTemplateSpec) {
				p.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: "/"},
				}}}
			}), true, "volumes may be"},
			"root": {with(security(func(c *corev1.SecurityContext) { c.RunAsUser = new(int64(0)) })), true,
				"no runAsUser 0"},
			"privileged": {with(security(func(c *corev1.SecurityContext) { c.Privileged = new(true) })), true,
				"neither privileged nor procMount"},
			"a capability": {with(security(func(c *corev1.SecurityContext) {
				c.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
			})), true, "add no other than NET_BIND_SERVICE"},
			"a port of the host": {with(func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
			}), true, "remove hostPort"},
			"no seccomp": {with(security(func(c *corev1.SecurityContext) {
				c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
			})), true, "seccompProfile"},
			"an init container that says nothing": {with(func(p *corev1.PodTemplateSpec) {
				p.Spec.InitContainers = []corev1.Container{{Name: "fetch", Image: "fetch:1"}}
			}), true, "allowPrivilegeEscalation: false"},
			"the simple form": {func(*v1alpha1.TrainingJob) {}, false, "describe the ranks by spec.replicaSpecs"},
		},
	}
}
