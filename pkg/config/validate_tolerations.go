package config

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxTolerations bounds what every job's status repeats.
const maxTolerations = 16

// validateTolerations refuses what the API server would refuse in every pod (k8s.io/kubernetes/pkg/apis/core/
// validation, ValidateTolerations), and a toleration of every taint: ranks would stay on nodes that fail.
func validateTolerations(path *field.Path, list []corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	if len(list) > maxTolerations {
		errs = append(errs, field.TooMany(path, len(list), maxTolerations))
	}
	for i, t := range list {
		at := path.Index(i)
		if t.Key == "" {
			errs = append(errs, field.Required(at.Child("key"), "name the taint's key, such as nvidia.com/gpu"))
		} else {
			errs = append(errs, validateName(at.Child("key"), t.Key, validation.IsQualifiedName)...)
		}
		switch t.Operator {
		case "", corev1.TolerationOpEqual:
			errs = append(errs, validateName(at.Child("value"), t.Value, validation.IsValidLabelValue)...)
		case corev1.TolerationOpExists:
			if t.Value != "" {
				errs = append(errs, field.Invalid(at.Child("value"), t.Value,
					"operator Exists takes no value: remove it, or use operator Equal"))
			}
		default:
			errs = append(errs, field.NotSupported(at.Child("operator"), t.Operator,
				[]corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
		}
		switch t.Effect {
		case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		default:
			errs = append(errs, field.NotSupported(at.Child("effect"), t.Effect, []corev1.TaintEffect{
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("tolerationSeconds"), *t.TolerationSeconds, fmt.Sprintf(
				"belongs to effect %s alone: remove it", corev1.TaintEffectNoExecute)))
		}
	}
	return errs
}
