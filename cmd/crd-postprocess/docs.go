package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// docs returns the sections of the API reference that come from the rules. crd-ref-docs generates the others
// from the types.
func (f *rulesFile) docs() string {
	return f.ruleDocs() + f.changeDocs() + f.Bounds.docs()
}

func (f *rulesFile) ruleDocs() string {
	var messages []string
	fields := map[string][]string{} // by message
	for _, r := range f.Rules {
		if strings.Contains(r.Rule, "oldSelf") || strings.Contains(r.Rule, "$(finished)") {
			continue // it limits changes: the next section
		}
		if fields[r.Message] == nil {
			messages = append(messages, r.Message)
		}
		fields[r.Message] = append(fields[r.Message], strings.Trim(r.At+"."+r.Field, "."))
	}
	var b strings.Builder
	fmt.Fprint(&b, "\n## Rules between fields\n\n",
		"The API server rejects a job that breaks one of these rules, with this message.\n\n")
	for _, m := range messages {
		fmt.Fprintf(&b, "- %s: %s\n", codes("", fields[m]), strings.ReplaceAll(m, "<", "&lt;"))
	}
	fmt.Fprintf(&b, "- %s: belong to the simple form and cannot be combined with replicaSpecs\n",
		codes("spec.", f.SimpleForm))
	fmt.Fprint(&b, "\nThe ValidatingAdmissionPolicy in deploy/admission checks labels and annotations.\n")
	return b.String()
}

func (f *rulesFile) changeDocs() string {
	rows := []struct{ fields, when string }{
		{"the roles (keys of `replicaSpecs`)", "never"},
		{codes("", f.Changes.Finished), "always"},
		{codes("", slices.Concat(f.Changes.Running, []string{"replicaSpecs.*.replicas"})),
			"until the job has finished"},
		{codes("", f.Changes.Suspended), "while the job is Suspended, Pending or new"},
		{"all others", "while the job is Suspended, Queued, Pending or new"},
	}
	var b strings.Builder
	fmt.Fprint(&b, "\n## When fields can change\n\n| Fields of the spec | Can change |\n| --- | --- |\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row.fields, row.when)
	}
	fmt.Fprint(&b, "\nTo change other fields of a running job, set `runPolicy.suspend: true`, ",
		"wait for phase Suspended, and apply the\nchange with `suspend: false`.\n")
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
