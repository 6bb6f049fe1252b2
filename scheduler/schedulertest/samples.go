package schedulertest

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Sample is a gang on which every dialect is checked, unless the dialect refuses it.
type Sample struct {
	Name, Reason string
	Gang         scheduler.Gang
}

// Samples returns the samples in a fixed order. Every dialect accepts the first.
func Samples() []Sample {
	return []Sample{
		{"workers", "the simple form: identical ranks, all of them needed", Gang()},
		{"roles", "a leader and workers, all of them needed", with(func(g *scheduler.Gang) {
			g.Roles = []scheduler.Role{
				{Name: "Master", Replicas: 1, MinAvailable: 1},
				{Name: "Worker", Replicas: 3, MinAvailable: 3},
			}
		})},
		{"elastic", "a gang that starts with two of its four ranks", with(func(g *scheduler.Gang) {
			g.Roles[0].MinAvailable, g.MinAvailable = 2, 2
		})},
		{"elastic-roles", "two of four ranks, one of which must be the leader", with(func(g *scheduler.Gang) {
			g.Roles = []scheduler.Role{
				{Name: "Master", Replicas: 1, MinAvailable: 1},
				{Name: "Worker", Replicas: 3, MinAvailable: 1},
			}
			g.MinAvailable = 2
		})},
		{"evaluator", "a role of which no rank is needed to start", with(func(g *scheduler.Gang) {
			g.Roles = []scheduler.Role{
				{Name: "Worker", Replicas: 4, MinAvailable: 4}, {Name: "Evaluator", Replicas: 1},
			}
		})},
		{"queue-and-priority", "a queue and a priority class", with(func(g *scheduler.Gang) {
			g.Queue, g.PriorityClass = "research", "high"
		})},
		{"priority", "a priority class without a queue", with(func(g *scheduler.Gang) {
			g.PriorityClass = "high"
		})},
		{"best-effort", "ranks that request nothing", with(func(g *scheduler.Gang) { g.MinResources = nil })},
		{"long-name", "the longest job name that its worker pods allow", with(func(g *scheduler.Gang) {
			g.Name = strings.Repeat("n", 53)
		})},
	}
}

// Gang returns the simplest sample: job bert, four workers with two GPUs each, first attempt, no pods yet.
func Gang() scheduler.Gang {
	controller := true
	g := scheduler.Gang{
		Name: "bert", Namespace: "team-a",
		Owner: metav1.OwnerReference{
			APIVersion: "mlplatform.example.com/v1alpha1", Kind: "TrainingJob", Name: "bert",
			UID: "4f9c1b1e-0000-4000-8000-000000000001", Controller: &controller,
			BlockOwnerDeletion: &controller,
		},
		Labels:       map[string]string{"trainingjob": "bert", "team": "a"},
		Attempt:      1,
		Roles:        []scheduler.Role{{Name: "Worker", Replicas: 4, MinAvailable: 4}},
		MinAvailable: 4,
		MinResources: requests(4),
	}
	g.Roles[0].Template = template(true)
	return g
}

// with returns the simplest sample with a change. MinResources follow MinAvailable unless the change removes
// them.
func with(change func(*scheduler.Gang)) scheduler.Gang {
	g := Gang()
	change(&g)
	if g.MinResources != nil {
		g.MinResources = requests(g.MinAvailable)
	}
	for i := range g.Roles {
		g.Roles[i].Template = template(g.MinResources != nil)
	}
	return g
}

// template returns the template of a role's pods.
func template(requesting bool) *corev1.PodTemplateSpec {
	var resources corev1.ResourceRequirements
	if requesting {
		resources = corev1.ResourceRequirements{Requests: requests(1), Limits: requests(1)}
	}
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{}, Annotations: map[string]string{"example.com/kept": "yes"},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			NodeSelector:  map[string]string{"example.com/kept": "yes"},
			Containers:    []corev1.Container{{Name: "trainer", Image: "trainer:1", Resources: resources}},
		},
	}
}

// requests returns what n ranks request.
func requests(n int32) corev1.ResourceList {
	amount := func(one string) resource.Quantity {
		q := resource.MustParse(one)
		q.Mul(int64(n))
		return q
	}
	return corev1.ResourceList{"cpu": amount("2"), "memory": amount("4Gi"), "nvidia.com/gpu": amount("2")}
}

// Pod returns a rank as the operator renders it before Join.
func Pod(g scheduler.Gang, role scheduler.Role, index int32) *corev1.Pod {
	kind := strings.ToLower(role.Name)
	common := template(g.MinResources != nil)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%s-%d", g.Name, kind, index), Namespace: g.Namespace,
			Labels: map[string]string{
				"trainingjob": g.Name, scheduler.LabelRole: kind,
				"training.kubeflow.org/replica-index": fmt.Sprint(index),
			},
			Annotations:     common.Annotations,
			OwnerReferences: []metav1.OwnerReference{*g.Owner.DeepCopy()},
		},
		Spec: common.Spec,
	}
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, g.Name
	return pod
}

// admitted is the verdict with which pods are joined.
var admitted = scheduler.Verdict{Admission: scheduler.Go, Judged: true}
