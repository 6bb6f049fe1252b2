package tfjob_test

import (
	"net/http"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestDocumentedJob compares the TrainingJob of the documented request with testdata/trainingjob.yaml.
func TestDocumentedJob(t *testing.T) {
	body, config := documented(t)
	if errs := config.Validate(nil); len(errs) > 0 {
		t.Error(errs)
	}
	f := newFixture(t, config)
	if answer := send(f, "POST", jobs, body); answer.Code != http.StatusOK {
		t.Fatal(answer.Body)
	}
	job := &v1alpha1.TrainingJob{}
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: "clever", Name: "mnist"}, job); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(map[string]any{
		"labels": job.Labels, "annotations": job.Annotations, "spec": job.Spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/trainingjob.yaml", string(text))
}
