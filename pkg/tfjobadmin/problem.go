package tfjobadmin

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Problem is what is wrong with one field of a document.
type Problem struct {
	// Field is the path of the field as the document spells it; empty for the whole document.
	Field string `json:"field,omitempty"`
	// Detail says what is wrong, and Remedy what to do about it: clauses without a full stop.
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// String is the whole sentence.
func (p Problem) String() string {
	sentence := p.Detail + ": " + p.Remedy
	if p.Remedy == "" {
		sentence = p.Detail
	}
	if p.Field == "" {
		return sentence
	}
	return p.Field + ": " + sentence
}

// Problems of one document.
type Problems []Problem

// Error has one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) add(path *field.Path, detail, remedy string) {
	problem := Problem{Detail: detail, Remedy: remedy}
	if path != nil {
		problem.Field = path.String()
	}
	*p = append(*p, problem)
}

// Path finds a field in the document that a client has sent, by the name that Document has for it, such as
// spec.workdir.
type Path func(name string) *field.Path

// Canonical is the Path of documents as they are written here.
func Canonical(name string) *field.Path {
	first, rest, _ := strings.Cut(name, ".")
	path := field.NewPath(first)
	if rest != "" {
		path = path.Child(rest)
	}
	return path
}
