package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// rulesFile is api/v1alpha1/rules.yaml.
type rulesFile struct {
	Define     map[string]string `json:"define"`
	Rules      []rule            `json:"rules"`
	SimpleForm []string          `json:"simpleForm"`
	Changes    changes           `json:"changes"`
	Foreign    []string          `json:"foreign"`
}

// rule is one x-kubernetes-validations entry.
type rule struct {
	At                string `json:"at"`
	Field             string `json:"field"`
	Reason            string `json:"reason"`
	Rule              string `json:"rule"`
	Message           string `json:"message"`
	MessageExpression string `json:"messageExpression"`
}

// changes says when fields of the spec may change, other than while nothing runs.
type changes struct {
	RuledAbove []string `json:"ruledAbove"`
	Suspended  []string `json:"suspended"`
	Running    []string `json:"running"`
	Finished   []string `json:"finished"`
}

func readRules(path string) (*rulesFile, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f rulesFile
	if err := yaml.UnmarshalStrict(raw, &f); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return &f, nil
}

// addTo adds every rule to the CRD's root schema.
func (f *rulesFile) addTo(root schema) error {
	all := slices.Concat(f.Rules, f.formRules())
	changeRules, err := f.changeRules(root)
	if err != nil {
		return err
	}
	for _, r := range append(all, changeRules...) {
		if err := f.add(root, r); err != nil {
			return fmt.Errorf("rule at %q for %q: %w", r.At, r.Field, err)
		}
	}
	return nil
}

func (f *rulesFile) add(root schema, r rule) error {
	target, err := root.at(r.At)
	if err != nil {
		return err
	}
	if _, err := target.at(r.Field); err != nil {
		return err
	}
	entry := map[string]any{}
	set := func(key, value string) {
		if value != "" {
			entry[key] = value
		}
	}
	set("rule", f.expand(r.Rule))
	set("message", r.Message)
	set("messageExpression", f.expand(r.MessageExpression))
	set("reason", r.Reason)
	if r.Field != "" {
		entry["fieldPath"] = "." + r.Field
	}
	list, _ := target["x-kubernetes-validations"].([]any)
	target["x-kubernetes-validations"] = append(list, entry)
	return nil
}

// expand replaces $(name) by its definition; definitions may use each other.
func (f *rulesFile) expand(text string) string {
	for strings.Contains(text, "$(") {
		before := text
		for _, name := range slices.Sorted(maps.Keys(f.Define)) {
			text = strings.ReplaceAll(text, "$("+name+")", f.Define[name])
		}
		if text == before {
			panic("undefined name in " + text)
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// formRules keeps the fields of the simple form from standing beside replicaSpecs: one rule each, so that every field
// that is in the way is named.
func (f *rulesFile) formRules() []rule {
	var rules []rule
	for _, name := range f.SimpleForm {
		rules = append(rules, rule{
			At:    "spec",
			Field: name,
			Rule:  fmt.Sprintf("!has(self.replicaSpecs) || !has(self.%s)", name),
			Message: "belongs to the simple form and cannot stand beside replicaSpecs: move it into replicaSpecs, " +
				"or remove replicaSpecs",
		})
	}
	return rules
}

// changeRules keeps every field of the spec from changing while the job runs or has finished, but for the listed ones.
func (f *rulesFile) changeRules(root schema) ([]rule, error) {
	spec, err := root.at("spec")
	if err != nil {
		return nil, err
	}
	unused := slices.Concat(f.Changes.RuledAbove, f.Changes.Suspended, f.Changes.Running, f.Changes.Finished)
	var rules []rule
	for _, path := range fields(spec, "") {
		unused = slices.DeleteFunc(unused, func(s string) bool { return s == path })
		rules = append(rules, f.Changes.rulesFor(path)...)
	}
	if len(unused) > 0 {
		return nil, fmt.Errorf("changes names %s, which the spec does not have", strings.Join(unused, ", "))
	}
	return rules, nil
}

// rulesFor lists the rules over the changes of one field of the spec.
func (c changes) rulesFor(path string) []rule {
	if slices.Contains(c.RuledAbove, path) || slices.Contains(c.Finished, path) {
		return nil
	}
	rules := []rule{{
		Field:   "spec." + path,
		Rule:    "!($(finished)) || " + unchanged(path),
		Message: path + " cannot change once the job has finished: create a new job",
	}}
	if slices.Contains(c.Running, path) {
		return rules
	}
	frozen := "!($(running))"
	if slices.Contains(c.Suspended, path) {
		frozen = "!(($(running)) || ($(queued)))"
	}
	return append(rules, rule{
		Field:             "spec." + path,
		Rule:              frozen + " || " + unchanged(path),
		MessageExpression: fmt.Sprintf("$(suspendFirst).format(['%s', oldSelf.status.phase])", path),
	})
}

// unchanged is true where self and oldSelf have the same value at a path, or both have none.
func unchanged(path string) string {
	present := func(self string) string {
		var has []string
		at := self + ".spec"
		for name := range strings.SplitSeq(path, ".") {
			at += "." + name
			has = append(has, "has("+at+")")
		}
		return "(" + strings.Join(has, " && ") + ")"
	}
	return fmt.Sprintf("(%[1]s == %[2]s && (!%[1]s || self.spec.%[3]s == oldSelf.spec.%[3]s))",
		present("self"), present("oldSelf"), path)
}

// fields lists the fields of the spec in order, policies (which are only groups of fields) replaced by their own.
func fields(s schema, prefix string) []string {
	properties, _ := s["properties"].(map[string]any)
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if strings.HasSuffix(name, "Policy") && properties[name].(map[string]any)["type"] == "object" {
			paths = append(paths, fields(properties[name].(map[string]any), prefix+name+".")...)
			continue
		}
		paths = append(paths, prefix+name)
	}
	return paths
}
