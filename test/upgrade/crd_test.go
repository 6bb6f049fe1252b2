package upgrade

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// crdFindings are what a CRD refuses, lacks or takes for something else, of what a former one took.
func crdFindings(former, this *apiextensionsv1.CustomResourceDefinition) (found []string) {
	say := func(path, what string) { found = append(found, path+": "+what) }
	if former.Spec.Scope != this.Spec.Scope || former.Spec.Group != this.Spec.Group {
		say("the CRD", "has another scope or group")
	}
	was, is := former.Spec.Names, this.Spec.Names
	for _, name := range slices.Concat([]string{was.Plural, was.Singular, was.Kind}, was.ShortNames,
		was.Categories) {
		if !slices.Contains(slices.Concat([]string{is.Plural, is.Singular, is.Kind}, is.ShortNames,
			is.Categories), name) {
			say("the CRD", "has lost the name "+name)
		}
	}
	for _, v := range former.Spec.Versions {
		i := slices.IndexFunc(this.Spec.Versions, func(w apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return w.Name == v.Name && (w.Served || !v.Served)
		})
		if i < 0 {
			say(v.Name, "is no longer served")
			continue
		}
		w := this.Spec.Versions[i]
		if !same(v.Subresources, w.Subresources) {
			say(v.Name, "has other subresources")
		}
		for _, c := range v.AdditionalPrinterColumns {
			if !slices.ContainsFunc(w.AdditionalPrinterColumns,
				func(d apiextensionsv1.CustomResourceColumnDefinition) bool { return d.Name == c.Name }) {
				say(v.Name, "has lost the column "+c.Name)
			}
		}
		compareSchemas(v.Name, v.Schema.OpenAPIV3Schema, w.Schema.OpenAPIV3Schema, say)
	}
	return found
}

type props = apiextensionsv1.JSONSchemaProps

// compareSchemas says what a schema refuses that the former one took, or takes for something else.
func compareSchemas(path string, former, this *props, say func(path, what string)) {
	for _, compare := range []func(former, this *props) []string{types, enums, bounds, rules} {
		for _, what := range compare(former, this) {
			say(path, what)
		}
	}
	for _, name := range this.Required {
		if !slices.Contains(former.Required, name) {
			say(path+"."+name, "is now required")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(former.Properties)) {
		was, is := former.Properties[name], this.Properties[name]
		if _, ok := this.Properties[name]; !ok {
			say(path+"."+name, "is gone")
			continue
		}
		compareSchemas(path+"."+name, &was, &is, say)
	}
	if was := former.AdditionalProperties; was != nil && was.Schema != nil {
		if is := this.AdditionalProperties; is == nil || is.Schema == nil {
			say(path, "takes no further keys")
		} else {
			compareSchemas(path+".*", was.Schema, is.Schema, say)
		}
	}
	if was := former.Items; was != nil && was.Schema != nil && this.Items != nil && this.Items.Schema != nil {
		compareSchemas(path+"[]", was.Schema, this.Items.Schema, say)
	}
}

// types are what an object is read and merged as.
func types(former, this *props) (found []string) {
	for what, differs := range map[string]bool{
		"has another type":    former.Type != this.Type || former.XIntOrString != this.XIntOrString,
		"has another default": !same(former.Default, this.Default),
		"is merged in another way": !same(former.XListType, this.XListType) ||
			!same(former.XMapType, this.XMapType) || !slices.Equal(former.XListMapKeys, this.XListMapKeys),
		"is no longer nullable":       former.Nullable && !this.Nullable,
		"drops fields that it kept":   keepsUnknown(former) && !keepsUnknown(this),
		"is no longer a whole object": former.XEmbeddedResource && !this.XEmbeddedResource,
	} {
		if differs {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	return found
}

func enums(former, this *props) (found []string) {
	if len(this.Enum) == 0 {
		return nil
	}
	if len(former.Enum) == 0 {
		return []string{"takes only some values"}
	}
	values := sets.New[string]()
	for _, v := range this.Enum {
		values.Insert(string(v.Raw))
	}
	for _, v := range former.Enum {
		if !values.Has(string(v.Raw)) {
			found = append(found, "no longer takes "+string(v.Raw))
		}
	}
	return found
}

// bounds are narrower, or new.
func bounds(former, this *props) (found []string) {
	found = append(found, narrower("minimum", former.Minimum, this.Minimum, 1)...)
	found = append(found, narrower("maximum", former.Maximum, this.Maximum, -1)...)
	for name, b := range map[string][2]*int64{
		"minLength": {former.MinLength, this.MinLength}, "minItems": {former.MinItems, this.MinItems},
		"minProperties": {former.MinProperties, this.MinProperties},
	} {
		found = append(found, narrower(name, b[0], b[1], 1)...)
	}
	for name, b := range map[string][2]*int64{
		"maxLength": {former.MaxLength, this.MaxLength}, "maxItems": {former.MaxItems, this.MaxItems},
		"maxProperties": {former.MaxProperties, this.MaxProperties},
	} {
		found = append(found, narrower(name, b[0], b[1], -1)...)
	}
	for name, b := range map[string][2]string{
		"pattern": {former.Pattern, this.Pattern}, "format": {former.Format, this.Format},
	} {
		if b[1] != "" && b[1] != b[0] {
			found = append(found, fmt.Sprintf("has the %s %q", name, b[1]))
		}
	}
	slices.Sort(found)
	return found
}

// narrower reports a bound that is new, or that has moved in a direction.
func narrower[T int64 | float64](name string, former, this *T, direction int) []string {
	if this == nil || former != nil && cmp.Compare(*this, *former) != direction {
		return nil
	}
	return []string{fmt.Sprintf("has the %s %v", name, *this)}
}

// rules that are new. One that is gone refuses less.
func rules(former, this *props) (found []string) {
	for _, r := range this.XValidations {
		if !slices.ContainsFunc(former.XValidations, func(f apiextensionsv1.ValidationRule) bool {
			return f.Rule == r.Rule
		}) {
			found = append(found, "has the rule "+r.Rule)
		}
	}
	return found
}

func keepsUnknown(p *props) bool { return ptr.Deref(p.XPreserveUnknownFields, false) }

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
