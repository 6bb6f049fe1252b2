package api_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
)

const (
	// mostStored is what etcd stores of one object, in bytes (its flag --max-request-bytes).
	mostStored = 1536 << 10
	// mostMemory is what one job may take of the operator's memory, in bytes: a hundred of them fit below the
	// limit in deploy/operator.
	mostMemory = 4 << 20
)

// TestMemoryOfLargestJobs: no job that is accepted takes much of the operator's memory. Go structures of
// empty elements take many times their JSON: without bounds, a job of 870 kB of empty containers took 15 MB.
func TestMemoryOfLargestJobs(t *testing.T) {
	for name, job := range largest() {
		t.Run(name, func(t *testing.T) {
			if errs := validation.Validate(job); len(errs) > 0 {
				t.Fatalf("it must be accepted: %v", errs.ToAggregate())
			}
			text, err := json.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > mostStored {
				t.Fatalf("%d bytes: etcd does not store it", len(text))
			}
			got := memoryOf(t, text)
			t.Logf("%d bytes of JSON take %d bytes", len(text), got)
			if got > mostMemory {
				t.Errorf("%d bytes of JSON take %d bytes of memory, more than %d", len(text), got, mostMemory)
			}
		})
	}
}

// memoryOf is the memory that a decoded job takes.
func memoryOf(t *testing.T, text []byte) uint64 {
	t.Helper()
	const copies = 8
	jobs := make([]v1alpha1.TrainingJob, copies)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range jobs {
		if err := json.Unmarshal(text, &jobs[i]); err != nil {
			t.Fatal(err)
		}
	}
	after := heap()
	runtime.KeepAlive(jobs)
	if after < before {
		return 0
	}
	return (after - before) / copies
}

// largest are jobs that use the bounds up, each in its own way.
func largest() map[string]*v1alpha1.TrainingJob {
	everything := everyRole(func(role int, pod *corev1.PodSpec) {
		fillContainers(role, pod, func(c *corev1.Container) { fillFields(c); fillEnv(c, 128) })
		fillVolumes(pod)
		fillAffinity(pod)
	})
	return map[string]*v1alpha1.TrainingJob{
		"everything":    everything,
		"empty objects": everyRole(func(role int, pod *corev1.PodSpec) { fillContainers(role, pod, fillFields) }),
		"variables": everyRole(func(role int, pod *corev1.PodSpec) {
			fillContainers(role, pod, func(c *corev1.Container) { fillEnv(c, 256) })
		}),
		"volumes":  everyRole(func(_ int, pod *corev1.PodSpec) { fillVolumes(pod) }),
		"affinity": everyRole(func(_ int, pod *corev1.PodSpec) { fillAffinity(pod) }),
		"text": everyRole(func(_ int, pod *corev1.PodSpec) {
			for range 7 {
				pod.Containers[0].Args = append(pod.Containers[0].Args, strings.Repeat("x", 32<<10))
			}
		}),
	}
}

// everyRole is a job of as many roles as one may have, changed by edit.
func everyRole(edit func(role int, pod *corev1.PodSpec)) *v1alpha1.TrainingJob {
	job := full()
	job.Spec.Framework = v1alpha1.FrameworkCustom
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for i, name := range []v1alpha1.Role{"Master", "Scheduler", "Server", "PS", "Worker", "Evaluator"} {
		r := role(1, "")
		edit(i, &r.Template.Spec)
		job.Spec.ReplicaSpecs[name] = r
	}
	return job
}

func short(i int) string { return fmt.Sprintf("n%d", i) }

// fillContainers gives the roles 32 containers together.
func fillContainers(role int, pod *corev1.PodSpec, edit func(*corev1.Container)) {
	pod.Containers = nil
	for i := range []int{16, 12, 1, 1, 1, 1}[role] {
		c := corev1.Container{Name: short(i), Image: "i"}
		edit(&c)
		pod.Containers = append(pod.Containers, c)
	}
}

func fillFields(c *corev1.Container) {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = probe, probe, probe
	c.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{}}
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{}}}
	for i := range 32 {
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: int32(i + 1)})
		c.EnvFrom = append(c.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{}})
	}
	c.Command, c.Args = make([]string, 256), make([]string, 256)
}

func fillEnv(c *corev1.Container, n int) {
	for i := range n {
		c.Env = append(c.Env, corev1.EnvVar{Name: short(i), ValueFrom: &corev1.EnvVarSource{}})
	}
}

func fillVolumes(pod *corev1.PodSpec) {
	for i := range 64 {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: short(i), VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: make([]corev1.VolumeProjection, 32)},
		}})
	}
}

func fillAffinity(pod *corev1.PodSpec) {
	node := make([]corev1.NodeSelectorRequirement, 8)
	for i := range node {
		node[i] = corev1.NodeSelectorRequirement{Key: "k", Values: make([]string, 128)}
	}
	nodes := corev1.NodeSelectorTerm{MatchExpressions: node}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := range 16 {
		selector.MatchLabels[short(i)] = ""
	}
	for range 4 {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: "k", Values: make([]string, 16),
		})
	}
	near := corev1.PodAffinityTerm{LabelSelector: selector, NamespaceSelector: selector}
	pods := []corev1.PodAffinityTerm{near, near, near, near, near, near, near, near}
	var preferred []corev1.WeightedPodAffinityTerm
	for range 8 {
		preferred = append(preferred, corev1.WeightedPodAffinityTerm{PodAffinityTerm: near})
	}
	pod.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{nodes, nodes, nodes, nodes},
		}},
		PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  pods,
			PreferredDuringSchedulingIgnoredDuringExecution: preferred,
		},
	}
}
