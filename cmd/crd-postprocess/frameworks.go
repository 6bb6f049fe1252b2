package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// frameworkRules refuses roles that a job's framework does not know, and releases of it that are too old: one
// rule of each sort for each framework.
func frameworkRules() []rule {
	var rules []rule
	for _, f := range framework.All() {
		if f.MinVersion != "" {
			rules = append(rules, versionRule(f))
		}
		if len(f.Roles) == 0 {
			continue
		}
		known := fmt.Sprintf("self.replicaSpecs.all(r, r in ['%s'])", strings.Join(f.Roles, "', '"))
		rules = append(rules, rule{
			At: "spec", Field: "replicaSpecs",
			Rule:    fmt.Sprintf("self.framework != '%s' || !has(self.replicaSpecs) || %s", f.Name, known),
			Message: f.RolesMessage(),
		})
	}
	return rules
}

// versionRule compares major and minor number; the field's own rule demands that there are both.
func versionRule(f framework.Framework) rule {
	const version = "self.frameworkVersion"
	major, minor, _ := strings.Cut(f.MinVersion, ".")
	const hasMajor, hasMinor = "int(" + version + ".split('.')[0])",
		"int(" + version + ".split('.')[1].split('-')[0])"
	return rule{
		At: "spec", Field: "frameworkVersion",
		Rule: fmt.Sprintf("self.framework != '%s' || !has(%s) || "+
			"!%s.matches('^[0-9]{1,4}[.][0-9]{1,4}([.-]|$)') || %s > %s || (%s == %s && %s >= %s)",
			f.Name, version, version, hasMajor, major, hasMajor, major, hasMinor, minor),
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
	const title, header = "\n## Framework\n", "| Value | Meaning |\n"
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, section, found := strings.Cut(string(raw), title)
	intro, rest, listed := strings.Cut(section, header)
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !listed || !ends || strings.Contains(intro, "\n## ") {
		return fmt.Errorf("%s has no section Framework with a table of its values", path)
	}
	text := before + title + intro + frameworkTable() + "\n" + after
	return os.WriteFile(path, []byte(text), 0o644)
}

func frameworkTable() string {
	var b strings.Builder
	fmt.Fprint(&b, "| Value | Meaning | Roles | Trainer's container | Port |\n")
	fmt.Fprint(&b, "| --- | --- | --- | --- | --- |\n")
	for _, f := range framework.All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s, else the first | %s, else %d |\n", f.Name, f.Summary,
			cmp.Or(codes("", f.Roles), "any"),
			codes("", append([]string{framework.TrainerContainer}, f.ContainerNames...)),
			codes("", append([]string{framework.PortName}, f.PortNames...)), f.DefaultPort)
	}
	return b.String()
}
