package main

import (
	"fmt"
	"slices"
	"strings"
)

// derivedRules are those that follow from the lists simpleForm and changes.
func (f *rulesFile) derivedRules(root schema) ([]rule, error) {
	spec, err := root.at("spec")
	if err != nil {
		return nil, err
	}
	changeRules, err := f.Changes.rules(spec.leaves(""))
	if err != nil {
		return nil, err
	}
	return append([]rule{formRule(f.SimpleForm)}, changeRules...), nil
}

// formRule keeps the fields of the simple form from being combined with replicaSpecs. It is one rule whose
// message names all that are in the way (see changes.rules for why it is not one rule for each).
func formRule(simpleForm []string) rule {
	const problem = "cannot be combined with fields of the simple form: " +
		"move them into replicaSpecs, or remove replicaSpecs"
	var given, names []string
	for _, name := range simpleForm {
		given = append(given, fmt.Sprintf("has(self.%s)", name))
		names = append(names, fmt.Sprintf("(has(self.%[1]s) ? ' spec.%[1]s' : '')", name))
	}
	return rule{
		At:      "spec",
		Field:   "replicaSpecs",
		Rule:    fmt.Sprintf("!has(self.replicaSpecs) || !(%s)", strings.Join(given, " || ")),
		Message: problem,
		// Joining a list would exceed the API server's budget for an expression.
		MessageExpression: "'" + problem + "; given are' + " + strings.Join(names, " + "),
	}
}

// rules keep every field of the spec from changing while the job runs or has finished, but for the listed
// ones. So a new field is never forgotten. A listed field that the spec does not have is an error.
//
// They are a few rules that name the field in their message, and not one rule for each field: the API
// server evaluates every rule at every write of the status, and one for each field took two thirds of the
// time of such a write.
func (c changes) rules(fields []string) ([]rule, error) {
	for _, path := range slices.Concat(c.OwnRules, c.Suspended, c.Running, c.Finished) {
		if !slices.Contains(fields, path) {
			return nil, fmt.Errorf("changes names %s, which the spec does not have", path)
		}
	}
	var whileRunning, onceFinished []string
	for _, path := range fields {
		if slices.Contains(c.OwnRules, path) || slices.Contains(c.Finished, path) {
			continue
		}
		onceFinished = append(onceFinished, path)
		if !slices.Contains(c.Running, path) {
			whileRunning = append(whileRunning, path)
		}
	}
	rules := []rule{{
		Field:   "spec",
		Rule:    unchangedIn("$(finished)", wholeGroups(onceFinished)),
		Message: "the spec cannot change once the job has finished: create a new job",
		MessageExpression: "'%s cannot change once the job has finished: create a new job'" +
			".format([" + firstChanged(wholeGroups(onceFinished)) + "])",
	}, suspendFirst("spec", "$(running)", whileRunning)}
	for _, path := range c.Suspended {
		rules = append(rules, suspendFirst("spec."+path, "$(queued)", []string{path}))
	}
	return rules, nil
}

// wholeGroups replaces the fields of spec.checkpoint by the block, of which then nothing may change.
func wholeGroups(paths []string) []string {
	var whole []string
	for _, path := range paths {
		if group, _, _ := strings.Cut(path, "."); group == "checkpoint" {
			path = group
		}
		if !slices.Contains(whole, path) {
			whole = append(whole, path)
		}
	}
	return whole
}

// suspendFirst keeps the paths of the spec from changing in some phases, in which the job can be suspended.
func suspendFirst(field, phases string, paths []string) rule {
	return rule{
		Field: field,
		Rule:  unchangedIn(phases, paths),
		Message: "cannot change while the job is queued or runs: " +
			"suspend the job first (spec.runPolicy.suspend: true)",
		MessageExpression: fmt.Sprintf("$(suspendFirst).format([%s, oldSelf.status.phase])", firstChanged(paths)),
	}
}

// unchangedIn is a rule: in these phases, no path of the spec changes. A list takes the place of many &&,
// each of which takes 12 bytes of JSON.
func unchangedIn(phases string, paths []string) string {
	if len(paths) == 1 {
		return fmt.Sprintf("!(%s) || %s", phases, unchanged(paths[0]))
	}
	same := make([]string, len(paths))
	for i, path := range paths {
		same[i] = unchanged(path)
	}
	return fmt.Sprintf("!(%s) || self.spec == oldSelf.spec || [%s].all(same, same)", phases,
		strings.Join(same, ", "))
}

// firstChanged is an expression for the name of the first path that has changed, in brackets.
func firstChanged(paths []string) string {
	last := len(paths) - 1
	expression := fmt.Sprintf("'%s'", paths[last])
	for _, path := range slices.Backward(paths[:last]) {
		expression = fmt.Sprintf("!%s ? '%s' : %s", unchanged(path), path, expression)
	}
	return "(" + expression + ")"
}

// unchanged is true where self and oldSelf have the same value at a path of the spec, or both have none.
// Whether there is one is asked by optionals, which are short; what is compared is not, since optionals would
// lose its size.
func unchanged(path string) string {
	present := func(self string) string {
		if !strings.Contains(path, ".") {
			return "has(" + self + ".spec." + path + ")"
		}
		return self + ".spec.?" + strings.ReplaceAll(path, ".", ".?") + ".hasValue()"
	}
	return fmt.Sprintf("(%[1]s ? %[2]s && self.spec.%[3]s == oldSelf.spec.%[3]s : !%[2]s)",
		present("self"), present("oldSelf"), path)
}
