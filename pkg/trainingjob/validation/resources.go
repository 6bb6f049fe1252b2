package validation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateResources checks that requests stay within the limits, and equal them for extended resources.
func validateResources(r corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	errs := validateQuantities(r.Limits, path.Child("limits"))
	errs = append(errs, validateQuantities(r.Requests, path.Child("requests"))...)
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, at := r.Requests[name], path.Child("requests").Key(string(name))
		limit, limited := r.Limits[name]
		switch {
		case !limited:
		case spec.Extended(name) && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf(
				"must equal the limit %s, since %s cannot be shared: give it in one of the two only",
				limit.String(), name)))
		case request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf(
				"exceeds the limit %s: lower it, or raise the limit", limit.String())))
		}
	}
	return errs
}

func validateQuantities(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		if problem := quantityProblem(name, q); problem != "" {
			errs = append(errs, field.Invalid(path.Key(string(name)), q.String(), problem))
		}
	}
	return errs
}

// quantityProblem returns the error of a quantity of a resource; "" for none.
func quantityProblem(name corev1.ResourceName, q resource.Quantity) string {
	switch {
	case q.Sign() < 0:
		return "is negative: give 0 or more"
	case spec.Extended(name) && q.MilliValue()%1000 != 0:
		return "must be a whole number: " + string(name) + " cannot be divided"
	}
	return ""
}
