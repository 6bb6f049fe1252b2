package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// inRange accepts an absent value, or one from least to most.
func inRange[N int32 | int64](path *field.Path, value *N, least, most N) field.ErrorList {
	switch {
	case value == nil:
		return nil
	case *value < least:
		return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("must be at least %d", least))}
	case *value > most:
		return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("must be at most %d", most))}
	}
	return nil
}

// oneOf accepts an absent value, or one of the known ones.
func oneOf[T ~string](path *field.Path, value T, known ...T) field.ErrorList {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

// optionalName accepts an absent value, or one that can be the name of an object of the kind.
func optionalName(path *field.Path, value, kind string) field.ErrorList {
	if value == "" || isName(value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, notAName(kind))}
}

// isName reports whether an object can have the name.
func isName(value string) bool { return len(validation.IsDNS1123Subdomain(value)) == 0 }

// notAName is the CRD's message for a value that cannot be the name of an object of the kind.
func notAName(kind string) string {
	return "not the name of a " + kind + ": use lower-case letters, digits, '-' and '.', " +
		"beginning and ending with a letter or digit"
}
