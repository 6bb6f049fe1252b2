package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// Policy is a ValidatingAdmissionPolicy with its binding and its parameters, all from one file.
type Policy struct {
	// Name of the policy; Path of its file.
	Name, Path string
	// Params is the ConfigMap that the binding names; nil for a policy without parameters.
	Params *unstructured.Unstructured
	// Expressions of its validations.
	Expressions []string

	operations []admissionv1.OperationType
	namespaces labels.Selector
	warns      bool
	validator  validating.Validator
}

// Request is the request that a policy evaluates.
type Request struct {
	// Object is the new object, Old the current one; nil for a creation.
	Object, Old map[string]any
	// Namespace of the object.
	Namespace *corev1.Namespace
	// User who sends the request, and Rights, which reports what users may do. nil: nothing.
	User   string
	Rights func(authorizer.Attributes) bool
}

// Denial is the result of a failed validation of a policy.
type Denial struct {
	// Validation is the index of the validation in the policy.
	Validation int
	Message    string
	// Warning is true if the policy only warns and the API server accepts the object.
	Warning bool
}

// ReadPolicies reads every ValidatingAdmissionPolicy of a file or a folder.
func ReadPolicies(path string) ([]*Policy, error) {
	objects, err := apitest.Objects(path)
	if err != nil {
		return nil, err
	}
	var all []*Policy
	for _, o := range objects {
		if o.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		p, err := readPolicy(o, objects)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", o.Path, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func readPolicy(o apitest.Object, objects []apitest.Object) (*Policy, error) {
	var is admissionv1.ValidatingAdmissionPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &is); err != nil {
		return nil, err
	}
	p := &Policy{Name: is.Name, Path: o.Path, namespaces: labels.Everything()}
	for _, rule := range is.Spec.MatchConstraints.ResourceRules {
		p.operations = append(p.operations, rule.Operations...)
	}
	bound := false
	for _, other := range objects {
		if other.GetKind() != "ValidatingAdmissionPolicyBinding" {
			continue
		}
		var b admissionv1.ValidatingAdmissionPolicyBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(other.Object, &b); err != nil {
			return nil, err
		}
		if b.Spec.PolicyName == is.Name {
			bound = true
			if err := p.bind(&b, objects); err != nil {
				return nil, err
			}
		}
	}
	if !bound {
		return nil, fmt.Errorf("%s has no binding", is.Name)
	}
	for _, v := range is.Spec.Validations {
		p.Expressions = append(p.Expressions, v.Expression)
	}
	var err error
	p.validator, err = compile(&is)
	return p, err
}

func (p *Policy) bind(b *admissionv1.ValidatingAdmissionPolicyBinding, objects []apitest.Object) error {
	p.warns = !slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	if m := b.Spec.MatchResources; m != nil && m.NamespaceSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(m.NamespaceSelector)
		if err != nil {
			return err
		}
		p.namespaces = selector
	}
	ref := b.Spec.ParamRef
	if ref == nil {
		return nil
	}
	for _, o := range objects {
		if o.GetKind() == "ConfigMap" && o.GetName() == ref.Name && o.GetNamespace() == ref.Namespace {
			p.Params = o.Unstructured
			return nil
		}
	}
	return fmt.Errorf("%s has no parameters %s/%s in its file", b.Name, ref.Namespace, ref.Name)
}

// With is the policy with other data in its parameters.
func (p *Policy) With(data map[string]string) *Policy {
	other := *p
	other.Params = p.Params.DeepCopy()
	all, _, _ := unstructured.NestedStringMap(other.Params.Object, "data")
	maps.Copy(all, data)
	if err := unstructured.SetNestedStringMap(other.Params.Object, all, "data"); err != nil {
		panic(err) // the object is a ConfigMap, and all is a map of strings
	}
	return &other
}

// compile repeats compilePolicy (k8s.io/apiserver v0.37.2, pkg/admission/plugin/policy/validating/plugin.go),
// and fails where an expression does not compile.
func compile(p *admissionv1.ValidatingAdmissionPolicy) (validating.Validator, error) {
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiler, err := cel.NewCompositedCompiler(env)
	if err != nil {
		return nil, err
	}
	options := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
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
	condition := func(list []cel.ExpressionAccessor, o cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		evaluator := compiler.CompileCondition(list, o, environment.NewExpressions)
		for _, problem := range evaluator.CompilationErrors() {
			err = fmt.Errorf("policy %s: %w", p.Name, problem)
		}
		return evaluator
	}
	matcher := matchconditions.NewMatcher(condition(conditions, options), p.Spec.FailurePolicy,
		"policy", "validate", p.Name)
	messageOptions := cel.OptionalVariableDeclarations{HasParams: options.HasParams}
	validator := validating.NewValidator(condition(rules, options), matcher, condition(nil, options),
		condition(messages, messageOptions), p.Spec.FailurePolicy, nil)
	return validator, err
}

// Judge returns the failed validations of the policy, none if it allows the request. An expression that costs
// too much is an error.
func (p *Policy) Judge(ctx context.Context, r Request) ([]Denial, error) {
	operation, old := admission.Create, runtime.Object(nil)
	object := &unstructured.Unstructured{Object: r.Object}
	if r.Old != nil {
		operation, old = admission.Update, &unstructured.Unstructured{Object: r.Old}
	}
	if !slices.Contains(p.operations, admissionv1.OperationType(operation)) ||
		!p.namespaces.Matches(labels.Set(r.Namespace.Labels)) {
		return nil, nil
	}
	kind, resource := v1alpha1.GroupVersion.WithKind("TrainingJob"),
		v1alpha1.GroupVersion.WithResource("trainingjobs")
	attributes := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(object, old, kind, r.Namespace.Name, object.GetName(),
			resource, "", operation, nil, true, &user.DefaultInfo{Name: r.User}),
		VersionedObject: admission.NewLazyObject(object), VersionedKind: kind,
	}
	if old != nil {
		attributes.VersionedOldObject = admission.NewLazyObject(old)
	}
	var params runtime.Object
	if p.Params != nil {
		params = p.Params
	}
	result := p.validator.Validate(ctx, resource, attributes, params, r.Namespace,
		celconfig.RuntimeCELCostBudget, rights(r.Rights))
	var all []Denial
	for i, d := range result.Decisions {
		if d.Evaluation == validating.EvalError {
			return nil, fmt.Errorf("%s: %s", p.Name, d.Message)
		}
		if d.Action == validating.ActionDeny {
			all = append(all, Denial{Validation: i, Message: d.Message, Warning: p.warns})
		}
	}
	return all, nil
}

// rights answers whether a user may do something.
type rights func(authorizer.Attributes) bool

func (r rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if r != nil && r(a) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}
