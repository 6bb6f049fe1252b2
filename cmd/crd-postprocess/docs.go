package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// docs are the sections that the rules add to the API's reference: crd-ref-docs knows the types only.
func (f *rulesFile) docs() string {
	var b strings.Builder
	fmt.Fprint(&b, "\n## Rules between fields\n\nThe API server refuses what breaks one of them.\n\n")
	fmt.Fprint(&b, "| Field | What to change |\n| --- | --- |\n")
	for _, r := range f.Rules {
		path := strings.Trim(r.At+"."+r.Field, ".")
		text := r.Message
		if text == "" {
			text = strings.Join(strings.Fields(r.MessageExpression), " ")
			_, text, _ = strings.Cut(text, "'")
			text, _, _ = strings.Cut(text, "'")
		}
		if strings.HasPrefix(r.MessageExpression, "$(") {
			continue // a change: the next section
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", path, strings.NewReplacer("|", `\|`, "<", "&lt;", "%d", "N", "%s", "…").Replace(text))
	}
	fmt.Fprintf(&b, "| %s | belong to the simple form and cannot stand beside replicaSpecs |\n", codes("spec.", f.SimpleForm))
	fmt.Fprint(&b, "\nLabels and annotations, which the CRD's rules cannot see, are checked by the ValidatingAdmissionPolicy in deploy/admission.\n")

	fmt.Fprint(&b, "\n## What may change when\n\n| Fields of the spec | May change |\n| --- | --- |\n")
	fmt.Fprint(&b, "| the roles (keys of `replicaSpecs`) | never: pods are named after them |\n")
	fmt.Fprintf(&b, "| %s | always |\n", codes("", f.Changes.Finished))
	running := slices.Concat(f.Changes.Running, []string{"replicaSpecs.*.replicas"})
	fmt.Fprintf(&b, "| %s | until the job has finished, also while it runs |\n", codes("", running))
	fmt.Fprintf(&b, "| %s | while the job is Suspended, Pending or new |\n", codes("", f.Changes.Suspended))
	fmt.Fprint(&b, "| all others | while the job is Suspended, Queued, Pending or new |\n")
	fmt.Fprint(&b, "\nA job that runs is changed in two steps: suspend it (`runPolicy.suspend: true`), wait until its phase is Suspended, "+
		"then apply the change together with `suspend: false`.\n")
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
