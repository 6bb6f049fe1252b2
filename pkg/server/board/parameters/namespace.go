package parameters

import (
	_ "embed"
	"html/template"
	"slices"
)

//go:embed namespace.html
var namespaceHTML string

// maxNamespaces of a list. A reader types the name of one of more.
const maxNamespaces = 1000

// NamespaceField of a form: a list of the namespaces that its reader may see.
type NamespaceField struct {
	// Chosen namespace; empty for all.
	Chosen string
	// All that can be chosen, sorted. If they are not Known, the reader types the name.
	All   []string
	Known bool
	// Key that focuses the field; empty for none.
	Key string
}

// NewNamespaceField returns a field for the namespaces that list returns; nil if they are unknown.
func NewNamespaceField(chosen string, list func() []string) NamespaceField {
	f := NamespaceField{Chosen: chosen}
	if list == nil {
		return f
	}
	if f.All = list(); f.All == nil || len(f.All) > maxNamespaces {
		f.All = nil
		return f
	}
	f.Known = true
	if n, found := slices.BinarySearch(f.All, chosen); !found && chosen != "" {
		f.All = slices.Insert(slices.Clone(f.All), n, chosen)
	}
	return f
}

// WithNamespace adds the template "namespace", which renders a NamespaceField.
func WithNamespace(t *template.Template) *template.Template {
	return template.Must(t.Parse(namespaceHTML))
}
