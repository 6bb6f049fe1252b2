package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// frameworkRules refuses what a job's framework cannot do: roles that it does not know, too many or too few
// ranks of a role, an elasticPolicy, and releases of it that are too old.
func frameworkRules() []rule {
	rules := []rule{{
		At: "spec", Field: "elasticPolicy",
		Rule:    "!has(self.elasticPolicy) || self.framework in " + listOf(framework.ElasticNames()),
		Message: framework.ElasticMessage(),
	}}
	rules = append(rules, rolesRule())
	for _, f := range framework.All() {
		if f.MinVersion != "" {
			rules = append(rules, versionRule(f))
		}
		add := func(condition, message string) {
			rules = append(rules, rule{
				At: "spec", Field: "replicaSpecs",
				Rule: fmt.Sprintf("self.framework != '%s' || %s", f.Name, condition), Message: message,
			})
		}
		if len(f.Single) > 0 {
			add("!has(self.replicaSpecs) || self.replicaSpecs.all(r, !(r in "+listOf(f.Single)+") || "+
				"self.replicaSpecs[r].?replicas.orValue(1) <= 1)", f.SingleMessage())
		}
		if len(f.Needed) > 0 {
			add("$(ranks) <= 1 || (has(self.replicaSpecs) && "+listOf(f.Needed)+".all(r, r in self.replicaSpecs))",
				f.NeededMessage())
		}
	}
	return rules
}

// rolesRule refuses roles that the framework does not know. It is one rule for all frameworks, since each
// looks up the job's.
func rolesRule() rule {
	var known, messages []string
	for _, f := range framework.All() {
		if len(f.Roles) > 0 {
			known = append(known, fmt.Sprintf("f == '%s' ? r in %s : ", f.Name, listOf(f.Roles)))
			messages = append(messages, fmt.Sprintf("'%s': '%s'", f.Name, f.RolesMessage()))
		}
	}
	return rule{
		At: "spec", Field: "replicaSpecs",
		Rule: "!has(self.replicaSpecs) || [self.framework].all(f, self.replicaSpecs.all(r, " +
			strings.Join(known, "") + "true))",
		Message: "the framework does not know one of the roles: rename or remove it, " +
			"or set spec.framework to custom",
		MessageExpression: "{" + strings.Join(messages, ", ") + "}[self.framework]",
	}
}

// listOf is a list of texts in CEL.
func listOf(texts []string) string { return "['" + strings.Join(texts, "', '") + "']" }

// versionRule compares major and minor number; the field's own rule demands that there are both.
func versionRule(f framework.Framework) rule {
	const version = "self.frameworkVersion"
	major, minor, _ := strings.Cut(f.MinVersion, ".")
	const hasMajor, hasMinor = "int(" + version + ".split('.')[0])",
		"int(" + version + ".split('.')[1].split('-')[0])"
	return rule{
		At: "spec", Field: "frameworkVersion",
		Rule: fmt.Sprintf("!has(%s) || self.framework != '%s' || "+
			"!%s.matches('^[0-9]{1,4}[.][0-9]{1,4}([.-]|$)') || %s > %s || (%s == %s && %s >= %s)",
			version, f.Name, version, hasMajor, major, hasMajor, major, hasMinor, minor),
		Message: f.VersionMessage(),
	}
}

// enumerateFrameworks makes the frameworks' names the only values of spec.framework.
func enumerateFrameworks(root schema) error {
	field, err := root.at("spec.framework")
	if err != nil {
		return err
	}
	var names []any
	for _, name := range framework.Names() {
		names = append(names, name)
	}
	field["enum"] = names
	return nil
}

// describeFrameworks replaces the values that crd-ref-docs lists for the type Framework, which are the
// constants in api, with a table of all frameworks.
func describeFrameworks(path string) error {
	const title, first = "\n## Framework\n", "\n- `"
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, section, found := strings.Cut(string(raw), title)
	intro, rest, listed := strings.Cut(section, first)
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !listed || !ends || strings.Contains(intro, "\n## ") {
		return fmt.Errorf("%s has no section Framework with a list of its values", path)
	}
	text := before + title + intro + "\n" + frameworkTable() + "\n" + after
	return os.WriteFile(path, []byte(text), 0o644)
}

func frameworkTable() string {
	var b strings.Builder
	fmt.Fprint(&b, "| Value | Variables of every rank | Roles | Trainer's container, else the first | Port |\n",
		"|---|---|---|---|---|\n")
	for _, f := range framework.All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s, else %d |\n", f.Name, f.Summary,
			cmp.Or(codes("", f.Roles), "any"),
			codes("", append([]string{framework.TrainerContainer}, f.ContainerNames...)),
			codes("", append([]string{framework.PortName}, f.PortNames...)), f.DefaultPort)
	}
	return b.String()
}
