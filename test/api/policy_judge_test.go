package api_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/judge"
)

// TestPolicies judges jobs by the policies as the API server does, without one.
func TestPolicies(t *testing.T) {
	for _, p := range policies() {
		t.Run(p.path, func(t *testing.T) {
			judges := readPolicies(t, p.path)
			for name, v := range p.cases {
				got := denials(t, judges[0], v.job(p.namespace.Name), &p.namespace)
				if (got == "") != (v.says == "") || !strings.Contains(got, v.says) {
					t.Errorf("%s: want %q, got %q", name, v.says, got)
				}
			}
		})
	}
}

// TestPoliciesAreCheap: the API server denies a job whose judgement by a policy costs too much, so none of
// the largest jobs may; judging them with every right there is costs the most.
func TestPoliciesAreCheap(t *testing.T) {
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	for _, path := range []string{"deploy/admission", "deploy/policies", "deploy/operator/warnings.yaml"} {
		for _, p := range readPolicies(t, path) {
			if strings.HasPrefix(p.Name, "trainingjob-warnings") {
				p = p.With(map[string]string{"gpusPerNode": "8", "preemptibleClasses": strings.Repeat("c ", 200)})
			}
			for name, job := range largest() {
				nameEverything(job)
				t.Run(p.Name+"/"+name, func(t *testing.T) { denials(t, p, job, restricted) })
			}
		}
	}
}

// nameEverything makes a job name as much as a right can be asked for.
func nameEverything(job *v1alpha1.TrainingJob) {
	job.Labels = map[string]string{"kueue.x-k8s.io/priority-class": "c"}
	job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	for name := range job.Spec.ReplicaSpecs {
		editRole(name, func(r *v1alpha1.ReplicaSpec) {
			pod := &r.Template.Spec
			pod.ServiceAccountName = "trainer"
			if name == v1alpha1.RoleWorker {
				pod.ServiceAccountName = "worker"
			}
		})(job)
	}
}

func readPolicies(t *testing.T, path string) []*judge.Policy {
	t.Helper()
	all, err := judge.ReadPolicies("../../" + path)
	if err != nil || len(all) == 0 {
		t.Fatalf("policies of %s: %v", path, err)
	}
	return all
}

// denials returns the messages of a policy on the creation of a job; "" if it allows it. An evaluation that
// costs too much fails the test.
func denials(t *testing.T, p *judge.Policy, job *v1alpha1.TrainingJob, namespace *corev1.Namespace) string {
	t.Helper()
	denied, err := p.Judge(t.Context(), judge.Request{
		Object: asUnstructured(t, job).Object, Namespace: namespace,
		Rights: func(authorizer.Attributes) bool { return true },
	})
	if err != nil {
		t.Error(err)
	}
	var words []string
	for _, d := range denied {
		words = append(words, d.Message)
	}
	return strings.Join(words, "\n")
}

// TestSpecs checks that the CRD and the policies of deploy/admission refuse what Validate refuses, and name
// the same fields.
func TestSpecs(t *testing.T) {
	crd, err := judge.ReadCRD("../../deploy/crd/mlplatform.example.com_trainingjobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policies := readPolicies(t, "deploy/admission")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for name, s := range allSpecs() {
		t.Run(name, func(t *testing.T) {
			job := s.job()
			var causes []metav1.StatusCause
			for _, err := range crd.Judge(t.Context(), asUnstructured(t, job).Object, nil) {
				causes = append(causes, metav1.StatusCause{Field: err.Field, Message: err.Error()})
			}
			for _, p := range policies {
				if words := denials(t, p, job, namespace); words != "" && len(causes) == 0 {
					causes = append(causes, metav1.StatusCause{Message: words})
				}
			}
			expectCauses(t, s, causes)
		})
	}
}

func expectCauses(t *testing.T, s spec, causes []metav1.StatusCause) {
	t.Helper()
	if len(s.fields) == 0 || s.goOnly {
		if len(causes) > 0 {
			t.Errorf("%s\nrefused: %v", s.reason, causes)
		}
		return
	}
	says := func(c metav1.StatusCause) bool { return strings.Contains(c.Message, s.says) }
	if !slices.ContainsFunc(causes, says) {
		t.Errorf("%s\nwant %q in %v", s.reason, s.says, causes)
	}
	for _, f := range s.fields {
		if !slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return names(c, f) }) {
			t.Errorf("%s\n%s is not named in %v", s.reason, f, causes)
		}
	}
}

func asUnstructured(t *testing.T, job *v1alpha1.TrainingJob) *unstructured.Unstructured {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("TrainingJob"))
	return u
}

// names reports whether a cause is about a field. The CRD's rules cannot point into a map or the metadata;
// they point at the nearest field above. A rule over several fields names them in its message, and an
// admission policy has only its message, which names the nearest field above too.
func names(c metav1.StatusCause, field string) bool {
	if c.Field == "" {
		key := strings.TrimPrefix(strings.TrimPrefix(field, "metadata.labels."), "metadata.annotations.")
		message := plain(c.Message)
		for strings.HasPrefix(key, "spec.") {
			if strings.Contains(message, key) {
				return true
			}
			key = key[:strings.LastIndex(key, ".")]
		}
		return strings.HasPrefix(field, "metadata.") && strings.Contains(c.Message, key)
	}
	at := plain(c.Field)
	return at == field || at != "spec" && strings.HasPrefix(field, at+".") ||
		slices.Contains(strings.FieldsFunc(c.Message, func(r rune) bool { return r == ' ' || r == ':' }),
			strings.TrimPrefix(field, "spec.")) ||
		slices.Contains(strings.Fields(c.Message), field)
}
