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

// formRules keeps the fields of the simple form from standing beside replicaSpecs, in one rule that names all that are in
// the way (see changeRules for why not one each).
func (f *rulesFile) formRules() []rule {
	var given, names []string
	for _, name := range f.SimpleForm {
		given = append(given, fmt.Sprintf("has(self.%s)", name))
		names = append(names, fmt.Sprintf("(has(self.%[1]s) ? ' spec.%[1]s' : '')", name))
	}
	return []rule{{
		At:    "spec",
		Field: "replicaSpecs",
		Rule:  fmt.Sprintf("!has(self.replicaSpecs) || !(%s)", strings.Join(given, " || ")),
		// Joining a list would exceed the API server's budget for an expression.
		MessageExpression: "'cannot stand beside fields of the simple form: move them into replicaSpecs, or remove replicaSpecs; given are' + " +
			strings.Join(names, " + "),
	}}
}

// changeRules keeps every field of the spec from changing while the job runs or has finished, but for the listed ones.
//
// They are a few rules that name the field in their message, and not one rule for each field: the API server evaluates all
// of them at every write of the status, and with one for each field that was two thirds of what such a write cost it.
func (f *rulesFile) changeRules(root schema) ([]rule, error) {
	spec, err := root.at("spec")
	if err != nil {
		return nil, err
	}
	c := f.Changes
	unused := slices.Concat(c.RuledAbove, c.Suspended, c.Running, c.Finished)
	var whileRunning, onceFinished []string
	for _, path := range fields(spec, "") {
		unused = slices.DeleteFunc(unused, func(s string) bool { return s == path })
		if slices.Contains(c.RuledAbove, path) || slices.Contains(c.Finished, path) {
			continue
		}
		onceFinished = append(onceFinished, path)
		if !slices.Contains(c.Running, path) {
			whileRunning = append(whileRunning, path)
		}
	}
	if len(unused) > 0 {
		return nil, fmt.Errorf("changes names %s, which the spec does not have", strings.Join(unused, ", "))
	}
	rules := []rule{
		frozen("spec", "$(finished)", onceFinished, "'%s cannot change once the job has finished: create a new job'.format([%s])"),
		frozen("spec", "$(running)", whileRunning, "$(suspendFirst).format([%s, oldSelf.status.phase])"),
	}
	for _, path := range c.Suspended {
		rules = append(rules, frozen("spec."+path, "$(queued)", []string{path}, "$(suspendFirst).format([%s, oldSelf.status.phase])"))
	}
	return rules, nil
}

// frozen keeps the paths of the spec from changing in some phases. The message, a CEL expression, is given the first path
// that has changed in the place of its last %s.
func frozen(field, phases string, paths []string, message string) rule {
	same := make([]string, len(paths))
	changed := fmt.Sprintf("'%s'", paths[len(paths)-1])
	for i, path := range paths {
		same[i] = unchanged(path)
	}
	for i := len(paths) - 2; i >= 0; i-- {
		changed = fmt.Sprintf("!%s ? '%s' : %s", same[i], paths[i], changed)
	}
	last := strings.LastIndex(message, "%s")
	return rule{
		Field:             field,
		Rule:              fmt.Sprintf("!(%s) || self.spec == oldSelf.spec || (%s)", phases, strings.Join(same, " && ")),
		MessageExpression: message[:last] + "(" + changed + ")" + message[last+2:],
	}
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
