package api_test

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// TestPolicies judges jobs by the policies as the API server does, without one.
func TestPolicies(t *testing.T) {
	for _, p := range policies() {
		t.Run(p.path, func(t *testing.T) {
			j := newJudge(t, p)
			for name, v := range p.cases {
				got := j.denials(t, v.job(p.namespace.Name))
				if (got == "") != (v.says == "") || !strings.Contains(got, v.says) {
					t.Errorf("%s: want %q, got %q", name, v.says, got)
				}
			}
			// The API server denies a job whose judgement costs too much.
			for name, job := range largest() {
				if got := j.denials(t, job); strings.Contains(got, "budget") || strings.Contains(got, "cost") {
					t.Errorf("the job with the most %s: %s", name, got)
				}
			}
		})
	}
}

// judge is one policy, compiled as in k8s.io/apiserver/pkg/admission/plugin/policy/validating, compilePolicy.
type judge struct {
	validator validating.Validator
	params    runtime.Object
	namespace *corev1.Namespace
}

func newJudge(t *testing.T, p policy) judge {
	t.Helper()
	objects, err := apitest.Read("../../" + p.path)
	if err != nil {
		t.Fatal(err)
	}
	j := judge{namespace: &p.namespace}
	var is admissionv1.ValidatingAdmissionPolicy
	for _, o := range objects {
		switch o.GetKind() {
		case "ConfigMap":
			j.params = o.Unstructured
		case "ValidatingAdmissionPolicy":
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &is); err != nil {
				t.Fatal(err)
			}
		}
	}
	j.validator = compile(t, &is)
	return j
}

func compile(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy) validating.Validator {
	t.Helper()
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiler, err := cel.NewCompositedCompiler(env)
	if err != nil {
		t.Fatal(err)
	}
	options := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil}
	var variables []cel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, options, environment.NewExpressions)
	var conditions, rules, messages []cel.ExpressionAccessor
	for i := range p.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]))
	}
	for _, v := range p.Spec.Validations {
		rules = append(rules, &validating.ValidationCondition{
			Expression: v.Expression, Message: v.Message, Reason: v.Reason,
		})
		var message cel.ExpressionAccessor
		if v.MessageExpression != "" {
			message = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
		messages = append(messages, message)
	}
	condition := func(list []cel.ExpressionAccessor) cel.ConditionEvaluator {
		evaluator := compiler.CompileCondition(list, options, environment.NewExpressions)
		for _, err := range evaluator.CompilationErrors() {
			t.Errorf("%s: %v", p.Name, err)
		}
		return evaluator
	}
	matcher := matchconditions.NewMatcher(condition(conditions), p.Spec.FailurePolicy,
		"policy", "validate", p.Name)
	return validating.NewValidator(condition(rules), matcher, condition(nil), condition(messages),
		p.Spec.FailurePolicy, nil)
}

// denials is everything that the policy says against the creation of a job; "" if it lets it through.
func (j judge) denials(t *testing.T, job *v1alpha1.TrainingJob) string {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	kind := v1alpha1.GroupVersion.WithKind("TrainingJob")
	u.SetGroupVersionKind(kind)
	resource := v1alpha1.GroupVersion.WithResource("trainingjobs")
	attributes := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(u, nil, kind, job.Namespace, job.Name, resource, "",
			admission.Create, nil, true, nil),
		VersionedObject: admission.NewLazyObject(u), VersionedKind: kind,
	}
	result := j.validator.Validate(t.Context(), schema.GroupVersionResource(resource), attributes, j.params,
		j.namespace, celconfig.RuntimeCELCostBudget, nil)
	var said []string
	for _, d := range result.Decisions {
		if d.Action == validating.ActionDeny {
			said = append(said, d.Message)
		}
	}
	return strings.Join(said, "\n")
}
