package convert

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Problem is a warning or an error about one field of a document.
type Problem struct {
	// Field is the path of the field, such as spec.runPolicy.backoffLimit. Empty for the document.
	Field string
	// Message says what is wrong with it or what became of it.
	Message string
}

// maxText bounds each part of a Problem that is shown, in bytes.
const maxText = 512

// String is one line, without control characters: paths and values are a stranger's.
func (p Problem) String() string {
	message := checkpoint.Printable(p.Message, maxText)
	if p.Field == "" {
		return message
	}
	return checkpoint.Printable(p.Field, maxText) + ": " + message
}

// Errors are the reasons why a document cannot be converted.
type Errors []Problem

// Error has one line for each problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// report collects the problems of one document, each once.
type report struct {
	warnings []Problem
	errors   Errors
}

func (r *report) warn(path *field.Path, format string, args ...any) {
	r.warnings = add(r.warnings, path, format, args)
}

func (r *report) fail(path *field.Path, format string, args ...any) {
	r.errors = add(r.errors, path, format, args)
}

func add(problems []Problem, path *field.Path, format string, args []any) []Problem {
	p := Problem{Message: fmt.Sprintf(format, args...)}
	if path != nil {
		p.Field = path.String()
	}
	if slices.Contains(problems, p) {
		return problems
	}
	return append(problems, p)
}

// noCounterpart is the end of every warning about a field that the result does not have.
const noCounterpart = "has no counterpart and is left out"
