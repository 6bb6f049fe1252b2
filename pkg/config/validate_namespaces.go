package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxNamespaces bounds the watches: the operator has some for each of its kinds in each namespace.
const maxNamespaces = 100

func validateNamespaces(path *field.Path, names []string) field.ErrorList {
	var errs field.ErrorList
	if len(names) > maxNamespaces {
		errs = append(errs, field.TooMany(path, len(names), maxNamespaces))
	}
	for i, name := range names {
		switch {
		case name == "":
			errs = append(errs, field.Required(path.Index(i),
				"name a namespace, or leave the whole key out to watch all"))
		case slices.Contains(names[:i], name):
			errs = append(errs, field.Duplicate(path.Index(i), name))
		default:
			errs = append(errs, validateName(path.Index(i), name, validation.IsDNS1123Label)...)
		}
	}
	return errs
}
