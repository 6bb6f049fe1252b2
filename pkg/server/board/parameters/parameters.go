// Package parameters answers one question: what does the URL of a page ask for?
//
// All pages validate their parameters alike: an unknown, repeated or too long one is an error with its name
// and a remedy. None is ignored. It also has the parts of forms and lists that depend on parameters.
package parameters

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// MaxBytes of a parameter by default: no name, label or UID of Kubernetes is longer.
const MaxBytes = 253

// Reader of a page's parameters. The zero value has no exceptions.
type Reader struct {
	// Lists can be repeated: their values are joined by commas.
	Lists []string
	// Long maps parameters that can be longer than MaxBytes to their maximum.
	Long map[string]int
}

// Each calls read for every parameter, sorted by name, with its value without surrounding spaces. It stops at
// the first error.
func (r Reader) Each(values url.Values, read func(name, value string) error) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 1 && !slices.Contains(r.Lists, name) {
			return Invalid(name, "it is there more than once", "give it once")
		}
		value, most := strings.TrimSpace(strings.Join(values[name], ",")), max(MaxBytes, r.Long[name])
		if len(value) > most {
			return Invalid(name, fmt.Sprintf("it has more than %d bytes", most), "give a shorter one")
		}
		if err := read(name, value); err != nil {
			return err
		}
	}
	return nil
}

// ParseList returns the known values in a comma-separated list, in the order of known. Another value is an
// error.
func ParseList[T ~string](name, value string, known []T) ([]T, error) {
	var chosen []T
	for v := range strings.SplitSeq(value, ",") {
		if v != "" && !slices.Contains(known, T(v)) {
			return nil, Invalid(name, fmt.Sprintf("there is no %s %q", name, v), "use some of "+Join(known))
		}
		chosen = append(chosen, T(v))
	}
	return slices.DeleteFunc(slices.Clone(known), func(v T) bool { return !slices.Contains(chosen, v) }), nil
}

// Join returns the parameter that ParseList parses.
func Join[T ~string](values []T) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(v))
	}
	return b.String()
}

// Values returns the parameters that are not empty.
func Values(all map[string]string) url.Values {
	values := url.Values{}
	for name, value := range all {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// Unknown returns the error of a parameter that the page does not have.
func Unknown(name string) error { return Invalid(name, "the page does not have it", "leave it out") }

// Invalid returns the error of a parameter, with its remedy.
func Invalid(name, detail, remedy string) error {
	return problem.New(problem.Invalid, detail, remedy).About("query." + name)
}
