package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// Which specs are invalid, and what each message says, is tested case by case in test/api, against a real API
// server.

// TestValidateOrder: the order of errors is fixed, because the job's condition shows them all, and must not
// change from one reconcile to the next.
func TestValidateOrder(t *testing.T) {
	broken := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "a",
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("2Gi")},
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
			},
		}},
	}}
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "Job"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: "chainer", Image: "i", BackoffLimit: new(int32(-1)),
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
				"Worker": {Replicas: new(int32(0)), Template: broken},
				"Master": {Replicas: new(int32(0)), Template: broken},
				"Boss":   {Template: broken},
			},
		},
	}
	container := func(role string) []string {
		at := "spec.replicaSpecs[" + role + "].template.spec.containers[0]."
		return []string{at + "image", at + "resources.requests[cpu]", at + "resources.requests[memory]"}
	}
	want := []string{
		"spec.framework", "spec.image", "spec.replicaSpecs[Master].replicas", "spec.replicaSpecs[Worker].replicas",
		"spec.replicaSpecs", "spec.backoffLimit", "metadata.name",
	}
	for _, role := range []string{"Boss", "Master", "Worker"} {
		want = append(want, container(role)...)
	}
	for range 20 {
		var got []string
		for _, err := range Validate(job) {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("fields in order (-want +got):\n%s", diff)
		}
	}
}

// TestContainersThatRestart: only native sidecars are restarted alone, in both restart scopes.
func TestContainersThatRestart(t *testing.T) {
	policy := func(p corev1.ContainerRestartPolicy) corev1.Container {
		return corev1.Container{RestartPolicy: &p}
	}
	const always, onFailure = corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure
	rules := corev1.Container{
		RestartPolicyRules: []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}},
	}
	for name, c := range map[string]struct {
		container corev1.Container
		init      bool
		want      string
	}{
		"no policy":                  {corev1.Container{}, false, ""},
		"OnFailure":                  {policy(onFailure), false, "containers[0].restartPolicy"},
		"Always":                     {policy(always), false, "containers[0].restartPolicy"},
		"rules":                      {rules, false, "containers[0].restartPolicyRules"},
		"a native sidecar":           {policy(always), true, ""},
		"an init container":          {policy(onFailure), true, "initContainers[1].restartPolicy"},
		"rules of an init container": {rules, true, "initContainers[1].restartPolicyRules"},
	} {
		for _, scope := range []v1alpha1.RestartScope{v1alpha1.ScopeGang, v1alpha1.ScopeRank} {
			job := jobtest.New(0, jobtest.Roles)
			job.Spec.RunPolicy.RestartScope = scope
			c.container.Name, c.container.Image = "other", "other:1"
			role := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
			if pod := &role.Template.Spec; c.init {
				pod.InitContainers = []corev1.Container{{Name: "first", Image: "first:1"}, c.container}
			} else {
				pod.Containers = []corev1.Container{c.container}
			}
			job.Spec.ReplicaSpecs[v1alpha1.RoleWorker] = role
			errs := Validate(job)
			if c.want == "" && len(errs) > 0 || c.want != "" && (len(errs) != 1 ||
				errs[0].Field != "spec.replicaSpecs[Worker].template.spec."+c.want ||
				!strings.Contains(errs[0].Detail, "set the role's restartPolicy")) {
				t.Errorf("%s in scope %s: %v, want %q", name, scope, errs, c.want)
			}
		}
	}
}

// TestLargeGangs: a gang whose framework cannot tell its ranks of each other is refused
// before there are pods.
func TestLargeGangs(t *testing.T) {
	for _, c := range []struct {
		framework v1alpha1.Framework
		replicas  int32
		says      string
	}{
		{"pytorch", 10000, ""},
		{"jax", 10000, ""},
		{"tensorflow", 3000, ""},
		{"tensorflow", 10000, "TF_CONFIG for a gang of 10000 ranks has"},
		{"xgboost", 10000, "WORKER_ADDRS for a gang of 10000 ranks has"},
	} {
		job := jobtest.New(c.replicas, func(j *v1alpha1.TrainingJob) { j.Spec.Framework = c.framework })
		errs := Validate(job)
		if c.says == "" && len(errs) > 0 || c.says != "" && (len(errs) != 1 ||
			errs[0].Field != "spec.replicas" || !strings.Contains(errs[0].Detail, c.says)) {
			t.Errorf("%s with %d ranks: %v, want %q", c.framework, c.replicas, errs, c.says)
		}
	}
}

// TestManyErrorsAreBounded: a job of thousands of mistakes has a status that can be stored.
func TestManyErrorsAreBounded(t *testing.T) {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkCustom, Image: "i", Command: []string{"c"},
			VolumeMounts: make([]corev1.VolumeMount, 64),
		},
	}
	errs := Validate(job)
	const last = "32 more errors are not shown: correct these first"
	if len(errs) != maxErrors+1 || errs[maxErrors].Detail != last {
		t.Errorf("%d errors, the last of them %v", len(errs), errs[len(errs)-1])
	}
}
