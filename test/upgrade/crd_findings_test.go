package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

const formerSchema = `
spec:
  names: {plural: jobs, kind: Job, shortNames: [j]}
  versions:
  - name: v1
    served: true
    additionalPrinterColumns: [{name: Phase, type: string, jsonPath: .p}]
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          i: {type: integer, minimum: 1, maximum: 9, default: 3}
          s: {type: string, enum: [a, b], maxLength: 5}
          l:
            type: array
            x-kubernetes-list-type: atomic
            items: {type: object, properties: {z: {type: string}}}
          m: {type: object, additionalProperties: {type: string}}
          o: {type: object, nullable: true, properties: {x: {type: string}}}
`

// Each edit of a schema is found, or rightly not.
func TestFindingsOfSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		old, edit string
		want      []string
	}{
		"nothing": {"", "", nil},
		"a field is gone": {"          o: {type: object, nullable: true, properties: {x: {type: string}}}\n", "",
			[]string{"v1.o: is gone"}},
		"one below": {"nullable: true, properties: {x: {type: string}}", "nullable: true",
			[]string{"v1.o.x: is gone"}},
		"another type":    {"{z: {type: string}}", "{z: {type: integer}}", []string{"v1.l[].z: has another type"}},
		"a value is lost": {"enum: [a, b]", "enum: [a]", []string{`v1.s: no longer takes "b"`}},
		"a value is new":  {"enum: [a, b]", "enum: [a, b, c]", nil},
		"an enumeration": {"additionalProperties: {type: string}",
			"additionalProperties: {type: string, enum: [a]}", []string{"v1.m.*: takes only some values"}},
		"required": {"        properties:", "        required: [i]\n        properties:",
			[]string{"v1.i: is now required"}},
		"a field is new": {"          i: ", "          new: {type: string, maxLength: 3}\n          i: ", nil},
		"one that requires another is new": {"          i: ",
			"          new: {type: object, required: [x], properties: {x: {type: string}}}\n          i: ", nil},
		"a higher minimum": {"minimum: 1", "minimum: 2", []string{"v1.i: has the minimum 2"}},
		"a lower minimum":  {"minimum: 1", "minimum: 0", nil},
		"a lower maximum":  {"maximum: 9", "maximum: 8", []string{"v1.i: has the maximum 8"}},
		"a shorter text":   {"maxLength: 5", "maxLength: 4", []string{"v1.s: has the maxLength 4"}},
		"a longer text":    {"maxLength: 5", "maxLength: 6", nil},
		"a pattern":        {"maxLength: 5", "maxLength: 5, pattern: x", []string{`v1.s: has the pattern "x"`}},
		"another default":  {"default: 3", "default: 4", []string{"v1.i: has another default"}},
		"merged by value":  {"list-type: atomic", "list-type: set", []string{"v1.l: is merged in another way"}},
		"not nullable":     {"nullable: true, ", "", []string{"v1.o: is no longer nullable"}},
		"a rule": {"maxLength: 5", "maxLength: 5, x-kubernetes-validations: [{rule: self != 'a'}]",
			[]string{"v1.s: has the rule self != 'a'"}},
		"a column is gone":  {"name: Phase,", "name: State,", []string{"v1: has lost the column Phase"}},
		"no status":         {"{status: {}}", "{}", []string{"v1: has other subresources"}},
		"no short name":     {"[j]", "[k]", []string{"the CRD: has lost the name j"}},
		"a version is gone": {"name: v1", "name: v2", []string{"v1: is no longer served"}},
		"one is not served": {"served: true", "served: false", []string{"v1: is no longer served"}},
		"another group":     {"spec:\n", "spec:\n  group: g\n", []string{"the CRD: has another scope or group"}},
		"a map without keys": {"additionalProperties: {type: string}", "nullable: true",
			[]string{"v1.m: takes no further keys"}},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(formerSchema, c.old) {
				t.Fatalf("there is no %q", c.old)
			}
			got := crdFindings(parsed(t, formerSchema), parsed(t, strings.Replace(formerSchema, c.old, c.edit, 1)))
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func parsed(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// What is new among the policies, and gone among the names, is found; the other way round it breaks nothing.
func TestFindingsOfPoliciesAndNames(t *testing.T) {
	one, two := sets.New("policy p: a"), sets.New("policy p: a", "policy p: b")
	if d := cmp.Diff([]string{"policy p: b: is new"}, policyFindings(one, two)); d != "" {
		t.Error(d)
	}
	former, this := map[string]string{"a": "label", "b": "reason"}, map[string]string{"a": "label"}
	if d := cmp.Diff([]string{"reason b: is gone"}, nameFindings(former, this)); d != "" {
		t.Error(d)
	}
	if found := append(policyFindings(two, one), nameFindings(this, former)...); len(found) > 0 {
		t.Error(found)
	}
}
