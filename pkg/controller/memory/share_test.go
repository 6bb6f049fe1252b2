package memory

import (
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
)

// decoded is a job as an informer decodes it: no two of its strings are the same memory.
func decoded() *v1alpha1.TrainingJob {
	text := strings.Clone
	amounts := func() corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceName(text("nvidia.com/gpu")): resource.MustParse("8")}
	}
	containers := make([]corev1.Container, 0, 4) // as decoding JSON leaves it
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: text("bert"), Labels: map[string]string{text("team"): text("research")},
			OwnerReferences: []metav1.OwnerReference{{Kind: text("CronTrainingJob"), Controller: new(true)}},
		},
		Spec: v1alpha1.TrainingJobSpec{
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.Role(text("Worker")): {
				Replicas: new(int32(2)),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: append(containers, corev1.Container{
					Name: text("trainer"), Args: []string{text(strings.Repeat("long", 100))},
					Resources: corev1.ResourceRequirements{Requests: amounts(), Limits: amounts()},
				})}},
			}},
		},
		Status: v1alpha1.TrainingJobStatus{
			Phase: v1alpha1.Phase(text("Queued")),
			Conditions: []metav1.Condition{{Type: text("Created"), Reason: text("Accepted"),
				LastTransitionTime: metav1.NewTime(jobtest.Start)}},
		},
	}
}

// TestShare: what is cached says the same as what was decoded, in less memory.
func TestShare(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection forgets strings that no handle holds
	a, b := decoded(), decoded()
	for _, job := range []*v1alpha1.TrainingJob{a, b} {
		Share(job)
	}
	if diff := cmp.Diff(decoded(), a); diff != "" {
		t.Errorf("the job has changed (-decoded +cached):\n%s", diff)
	}
	of := func(j *v1alpha1.TrainingJob) corev1.Container {
		return j.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec.Containers[0]
	}
	label := func(j *v1alpha1.TrainingJob) string { return j.Labels["team"] }
	key := func(j *v1alpha1.TrainingJob) string {
		for k := range of(j).Resources.Requests {
			return string(k)
		}
		return ""
	}
	for what, pair := range map[string][2]string{
		"the value of a label":     {label(a), label(b)},
		"the kind of an owner":     {a.OwnerReferences[0].Kind, b.OwnerReferences[0].Kind},
		"a container's name":       {of(a).Name, of(b).Name},
		"a resource's name":        {key(a), key(b)},
		"the reason of a status":   {a.Status.Conditions[0].Reason, b.Status.Conditions[0].Reason},
		"a phase, a named type's,": {string(a.Status.Phase), string(b.Status.Phase)},
	} {
		if unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			t.Errorf("%s %q is there twice", what, pair[0])
		}
	}
	if unsafe.StringData(of(a).Args[0]) == unsafe.StringData(of(b).Args[0]) {
		t.Error("a long argument was looked up among all others")
	}
	if n := cap(a.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec.Containers); n != 1 {
		t.Errorf("the cache holds %d containers, and 1 exists", n)
	}
	address := func(amounts corev1.ResourceList) uintptr { return reflect.ValueOf(amounts).Pointer() }
	requests := address(of(a).Resources.Requests)
	if address(of(a).Resources.Limits) != requests {
		t.Error("requests and limits that are equal are there twice")
	}
	if address(of(b).Resources.Requests) != requests {
		t.Error("requests that are equal in two jobs are there twice")
	}
}
