package convert_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// TestResultsPassTheCRD holds the results against the schema and the rules of the CRD, as the API server
// does with strict field validation.
func TestResultsPassTheCRD(t *testing.T) {
	judge := newJudge(t)
	jobs := 0
	for _, path := range inputs(t) {
		objects, _ := converted(t, path)
		for _, o := range objects {
			job, is := o.(*v1alpha1.TrainingJob)
			if !is {
				continue
			}
			jobs++
			t.Run(strings.TrimPrefix(path, "testdata/")+"/"+job.Name, func(t *testing.T) {
				job := job.DeepCopy()
				if _, known := framework.Get(string(job.Spec.Framework)); !known {
					// What its registry does not know, the CRD cannot. All else must pass.
					job.Spec.Framework = v1alpha1.FrameworkCustom
				}
				for _, err := range judge(t, job) {
					t.Error(err)
				}
			})
		}
	}
	if jobs < 25 {
		t.Errorf("only %d jobs", jobs)
	}
}

// TestJudgeRefuses shows that TestResultsPassTheCRD can fail: by the schema, by a rule.
func TestJudgeRefuses(t *testing.T) {
	judge := newJudge(t)
	job := &v1alpha1.TrainingJob{Spec: v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.FrameworkCustom, Image: "i", Replicas: new(int32(0)),
	}}
	job.Name = "a"
	errs := judge(t, job)
	for _, want := range []string{"spec.replicas", "spec.command"} {
		if !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%v: want %s", errs, want)
		}
	}
}

// newJudge returns what the API server would say of a job that is created.
func newJudge(t *testing.T) func(*testing.T, *v1alpha1.TrainingJob) field.ErrorList {
	t.Helper()
	raw, err := os.ReadFile("../../deploy/crd/mlplatform.example.com_trainingjobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := structuralschema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	bounds, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		t.Fatal(err)
	}
	rules := cel.NewValidator(schema, true, celconfig.PerCallLimit)
	return func(t *testing.T, job *v1alpha1.TrainingJob) field.ErrorList {
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		errs := validation.ValidateCustomResource(nil, object, bounds)
		unknown := pruning.PruneWithOptions(object, schema, true,
			structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		for _, path := range unknown {
			errs = append(errs, field.Forbidden(field.NewPath(path), "unknown field"))
		}
		byRules, _ := rules.Validate(t.Context(), nil, schema, object, nil, math.MaxInt64)
		return append(errs, byRules...)
	}
}
