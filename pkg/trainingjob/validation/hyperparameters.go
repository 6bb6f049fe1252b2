package validation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	maxHyperparameters     = 64
	maxHyperparameterValue = 1024 // bytes
)

var hyperparameterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// validateHyperparameters checks that every hyperparameter can be an environment variable, and that no two of
// them become the same one.
func validateHyperparameters(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	all := job.Spec.Hyperparameters
	var errs field.ErrorList
	if len(all) > maxHyperparameters {
		errs = append(errs, field.TooMany(path, len(all), maxHyperparameters))
	}
	first := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := path.Key(name)
		env := spec.HyperparameterEnv(name)
		switch other, taken := first[env]; {
		case !hyperparameterName.MatchString(name):
			errs = append(errs, field.Invalid(at, name, "not a name: begin with a letter or digit, "+
				"then use letters, digits, '_', '-' and '.', at most 63"))
		case taken:
			errs = append(errs, field.Invalid(at, name,
				fmt.Sprintf("becomes the variable %s, as %s does: rename one", env, other)))
		default:
			first[env] = name
		}
		value, scalar := all[name].Scalar()
		if !scalar {
			errs = append(errs, field.Invalid(at, "", "is a list, an object or null, which no variable can hold: "+
				"give a text, a number or a boolean (of anything else, its JSON as a text)"))
		}
		if len(value) > maxHyperparameterValue {
			errs = append(errs, field.TooLong(at, "", maxHyperparameterValue))
		}
		if strings.ContainsRune(value, 0) {
			errs = append(errs, field.Invalid(at, "", "has a zero byte, which no variable can hold: remove it"))
		}
	}
	if from := job.Spec.HyperparametersFrom; from != nil && !isName(from.Name) {
		at := field.NewPath("spec", "hyperparametersFrom", "name")
		errs = append(errs, field.Invalid(at, from.Name, notAName("ConfigMap")))
	}
	return errs
}
