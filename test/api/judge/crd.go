package judge

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	genericvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// CRD judges objects by the schema of a CustomResourceDefinition's one version, and by the rules in it.
type CRD struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
	// numbered is the schema with a number in place of every rule's words, and texts the rules by it.
	numbered *structuralschema.Structural
	counting *cel.Validator
	texts    []string
}

// ReadCRD reads the definition in a file.
func ReadCRD(path string) (*CRD, error) {
	objects, err := apitest.Read(path)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if len(objects) != 1 {
		return nil, fmt.Errorf("reading %s: %d objects, want one", path, len(objects))
	}
	content := objects[0].UnstructuredContent()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &crd); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(crd.Spec.Versions) != 1 {
		return nil, fmt.Errorf("reading %s: %d versions, want one", path, len(crd.Spec.Versions))
	}
	props := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	c := &CRD{}
	var internal apiextensions.JSONSchemaProps
	c.structural, c.rules, err = compileRules(props, &internal)
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", path, err)
	}
	if c.schema, _, err = validation.NewSchemaValidator(&internal); err != nil {
		return nil, fmt.Errorf("compiling %s: %w", path, err)
	}
	numbered := props.DeepCopy()
	c.number("", numbered)
	c.numbered, c.counting, err = compileRules(numbered, &apiextensions.JSONSchemaProps{})
	return c, err
}

func compileRules(
	props *apiextensionsv1.JSONSchemaProps, into *apiextensions.JSONSchemaProps,
) (*structuralschema.Structural, *cel.Validator, error) {
	convert := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps
	if err := convert(props, into, nil); err != nil {
		return nil, nil, err
	}
	structural, err := structuralschema.NewStructural(into)
	if err != nil {
		return nil, nil, err
	}
	return structural, cel.NewValidator(structural, true, celconfig.PerCallLimit), nil
}

const numberMark = "rule number "

// number replaces the words of every rule below a schema.
func (c *CRD) number(path string, props *apiextensionsv1.JSONSchemaProps) {
	for i := range props.XValidations {
		r := &props.XValidations[i]
		c.texts = append(c.texts, fmt.Sprintf("at %q: %s", strings.TrimPrefix(path, "."), r.Message))
		r.Message, r.MessageExpression = numberMark+strconv.Itoa(len(c.texts)-1), ""
	}
	for name, child := range props.Properties {
		c.number(path+"."+name, &child)
		props.Properties[name] = child
	}
	if p := props.AdditionalProperties; p != nil && p.Schema != nil {
		c.number(path+".*", p.Schema)
	}
	if p := props.Items; p != nil && p.Schema != nil {
		c.number(path+"[]", p.Schema)
	}
}

// Rules are all rules of the CRD: where each is, and its message.
func (c *CRD) Rules() []string { return c.texts }

// Judge says what the API server answers to the creation of an object, or to the update of old where that is
// not nil: nothing if it takes it. The object is not changed.
func (c *CRD) Judge(ctx context.Context, object, old map[string]any) field.ErrorList {
	object = c.Pruned(object)
	u := &unstructured.Unstructured{Object: object}
	errs := genericvalidation.ValidateObjectMetaAccessor(metav1.Object(u), true,
		genericvalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if err := objectmeta.Coerce(nil, object, c.structural, true, false); err != nil {
		return append(errs, err)
	}
	errs = append(errs, objectmeta.Validate(ctx, nil, object, c.structural, true)...)
	errs = append(errs, validation.ValidateCustomResource(nil, object, c.schema)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	if blocksRules(errs) {
		return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object "+
			"was invalid; correct the existing errors to complete validation"))
	}
	broken, _ := c.rules.Validate(ctx, nil, c.structural, object, old, celconfig.RuntimeCELCostBudget,
		ratcheted(c.structural, object, old)...)
	return append(errs, broken...)
}

// blocksRules repeats hasBlockingErr (k8s.io/apiextensions-apiserver v0.37.2,
// pkg/registry/customresource/strategy.go).
func blocksRules(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

// Broken lists the rules that an object breaks, as numbers in Rules; none where its schema forbids looking.
func (c *CRD) Broken(ctx context.Context, object, old map[string]any) []int {
	object = c.Pruned(object)
	if blocksRules(validation.ValidateCustomResource(nil, object, c.schema)) {
		return nil
	}
	var numbers []int
	errs, _ := c.counting.Validate(ctx, nil, c.numbered, object, old, math.MaxInt64,
		ratcheted(c.numbered, object, old)...)
	for _, err := range errs {
		if n, err := strconv.Atoi(strings.TrimPrefix(err.Detail, numberMark)); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// RulesHold evaluates all rules, as the API server does at every write of the object and of its status.
func (c *CRD) RulesHold(ctx context.Context, object, old map[string]any) bool {
	errs, _ := c.rules.Validate(ctx, nil, c.structural, object, old, celconfig.RuntimeCELCostBudget,
		ratcheted(c.structural, object, old)...)
	return len(errs) == 0
}

// Pruned returns a copy of an object without the fields that the schema lacks, as the API server stores it
// and shows it.
func (c *CRD) Pruned(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	pruning.Prune(object, c.structural, true)
	return object
}

// ratcheted lets an update pass whose errors stood in the old object too, as the API server does.
func ratcheted(s *structuralschema.Structural, object, old map[string]any) []cel.Option {
	if old == nil {
		return nil
	}
	return []cel.Option{cel.WithRatcheting(common.NewCorrelatedObject(object, old,
		&model.Structural{Structural: s}))}
}
