package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// docs are the sections of the API's reference that the rules are the source of: crd-ref-docs knows the
// types only.
func (f *rulesFile) docs() string {
	return f.ruleDocs() + f.changeDocs() + f.Bounds.docs()
}

func (f *rulesFile) ruleDocs() string {
	var b strings.Builder
	fmt.Fprint(&b, "\n## Rules between fields\n\nThe API server refuses what breaks one of them.\n\n",
		"| Field | What to change |\n| --- | --- |\n")
	for _, r := range f.Rules {
		if strings.Contains(r.Rule, "oldSelf") || strings.Contains(r.Rule, "$(finished)") {
			continue // it limits changes: the next section
		}
		path := strings.Trim(r.At+"."+r.Field, ".")
		fmt.Fprintf(&b, "| `%s` | %s |\n", path, strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(r.Message))
	}
	fmt.Fprintf(&b, "| %s | belong to the simple form and cannot stand beside replicaSpecs |\n",
		codes("spec.", f.SimpleForm))
	fmt.Fprint(&b, "\nLabels and annotations, which the CRD's rules cannot see, are checked by the ",
		"ValidatingAdmissionPolicy in\ndeploy/admission.\n")
	return b.String()
}

func (f *rulesFile) changeDocs() string {
	rows := []struct{ fields, when string }{
		{"the roles (keys of `replicaSpecs`)", "never: pods are named after them"},
		{codes("", f.Changes.Finished), "always"},
		{codes("", slices.Concat(f.Changes.Running, []string{"replicaSpecs.*.replicas"})),
			"until the job has finished, also while it runs"},
		{codes("", f.Changes.Suspended), "while the job is Suspended, Pending or new"},
		{"all others", "while the job is Suspended, Queued, Pending or new"},
	}
	var b strings.Builder
	fmt.Fprint(&b, "\n## What may change when\n\n| Fields of the spec | May change |\n| --- | --- |\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row.fields, row.when)
	}
	fmt.Fprint(&b, "\nA job that runs is changed in two steps: suspend it (`runPolicy.suspend: true`), ",
		"wait until its phase is\nSuspended, then apply the change together with `suspend: false`.\n")
	return b.String()
}

func codes(prefix string, names []string) string {
	quoted := make([]string, 0, len(names))
	for _, n := range names {
		quoted = append(quoted, "`"+prefix+n+"`")
	}
	return strings.Join(quoted, ", ")
}

func appendDocs(path string, rules *rulesFile) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// crd-ref-docs leaves runs of empty lines.
	text := strings.TrimSpace(string(raw))
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return os.WriteFile(path, []byte(text+"\n"+rules.docs()), 0o644)
}
