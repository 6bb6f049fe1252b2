package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// frameworkRules refuses roles that a job's framework does not know: one rule for each framework.
func frameworkRules() []rule {
	var rules []rule
	for _, f := range framework.All() {
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
