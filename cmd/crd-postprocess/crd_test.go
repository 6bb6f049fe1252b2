package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// generatedCRD is the one in deploy/crd.
func generatedCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile("../../deploy/crd/mlplatform.example.com_trainingjobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	return &crd
}

func generatedSchema(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return generatedCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema
}

func foreignPaths(t *testing.T) map[string]bool {
	t.Helper()
	rules, err := readRules("../../api/v1alpha1/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, path := range rules.Foreign {
		paths[path] = true
	}
	return paths
}

// visitor receives a schema at a path, and reports whether to visit its children.
type visitor func(path string, s *apiextensionsv1.JSONSchemaProps) bool

func visit(path string, s *apiextensionsv1.JSONSchemaProps, do visitor) {
	if !do(path, s) {
		return
	}
	for name := range s.Properties {
		child := s.Properties[name]
		visit(strings.TrimPrefix(path+"."+name, "."), &child, do)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		visit(path+".*", s.AdditionalProperties.Schema, do)
	}
	if s.Items != nil && s.Items.Schema != nil {
		visit(path+".[]", s.Items.Schema, do)
	}
}

// TestAPIServerAcceptsTheCRD covers what only the API server knows: whether each expression compiles, and
// whether its estimated cost is within the budget.
func TestAPIServerAcceptsTheCRD(t *testing.T) {
	crd := generatedCRD(t)
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	var internal apiextensions.CustomResourceDefinition
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
		crd, &internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	internal.Status.StoredVersions = []string{crd.Spec.Versions[0].Name} // as the API server fills it in
	for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), &internal) {
		t.Error(err)
	}
}

func TestEveryFieldOfOursHasADescription(t *testing.T) {
	foreign := foreignPaths(t)
	fields := 0
	visit("", generatedSchema(t), func(path string, s *apiextensionsv1.JSONSchemaProps) bool {
		if path == "metadata" { // the API server describes it
			return false
		}
		// Of a list or map, the field has the description and not its elements.
		element := strings.HasSuffix(path, ".*") || strings.HasSuffix(path, ".[]")
		if !element {
			fields++
		}
		if s.Description == "" && !element {
			t.Errorf("kubectl explain shows a blank for %s: give the field a comment in api/v1alpha1", path)
		}
		return !foreign[path]
	})
	if fields < 150 {
		t.Errorf("only %d fields were visited", fields)
	}
}

func TestEveryRuleHasAMessage(t *testing.T) {
	rules := 0
	visit("", generatedSchema(t), func(path string, s *apiextensionsv1.JSONSchemaProps) bool {
		for _, r := range s.XValidations {
			rules++
			if r.Message == "" {
				t.Errorf("at %q: no message, so users may see the raw rule: %s", path, r.Rule)
			}
		}
		return true
	})
	if rules < 30 {
		t.Errorf("only %d rules were visited", rules)
	}
}

// TestMessages evaluates the generated rules as the API server does. The jobs break the schema's bounds too:
// the API server evaluates the rules of such a job all the same.
func TestMessages(t *testing.T) {
	const simple = `"framework": "custom", "image": "trainer:1", "command": ["train"]`
	tests := map[string]struct {
		reason, spec string
		want         []string
	}{
		"no ranks": {
			reason: "a job without a minAvailable breaks no rule about it, whatever its replicas",
			spec:   `{` + simple + `, "replicas": 0}`,
		},
		"fewer ranks than minAvailable": {
			reason: "the message has the job's numbers",
			spec:   `{` + simple + `, "replicas": 0, "runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}`,
			want:   []string{"minAvailable 2 exceeds the 0 ranks: set it to at most 0, or raise replicas"},
		},
		"both forms, and an unknown role": {
			reason: "several rules fire, and each says its sentence",
			spec: `{` + simple + `, "replicaSpecs": {
				"Worker": {"template": {"spec": {"containers": []}}},
				"Boss": {"template": {}}}}`,
			want: []string{
				"given are spec.image spec.command",
				`unknown roles ["Boss"]: use Master`,
				"a pod template has no container",
			},
		},
	}
	validate := validator(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := validate(`{"metadata": {"name": "job"}, "spec": ` + test.spec + `}`)
			if (len(test.want) == 0) != (got == "") {
				t.Errorf("%s\nwant %q, got:\n%s", test.reason, test.want, got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\nwant %q in:\n%s", test.reason, want, got)
				}
			}
			if strings.Contains(got, "failed rule") || strings.Contains(got, "evaluating rule") {
				t.Errorf("%s\na raw rule is shown:\n%s", test.reason, got)
			}
		})
	}
}

// validator returns a function that lists what the generated rules say of a job, a line each.
func validator(t *testing.T) func(job string) string {
	t.Helper()
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		generatedSchema(t), &internal, nil)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return func(job string) string {
		var object map[string]any
		if err := json.Unmarshal([]byte(job), &object); err != nil {
			t.Fatal(err)
		}
		errs, _ := rules.Validate(t.Context(), nil, structural, object, nil, math.MaxInt64)
		var lines strings.Builder
		for _, err := range errs {
			lines.WriteString(err.Error() + "\n")
		}
		return lines.String()
	}
}
