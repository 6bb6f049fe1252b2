package validation

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const maxVersion = 32

var versionText = regexp.MustCompile(`^[0-9]{1,4}[.][0-9]{1,4}([.-][0-9A-Za-z]+)*$`)

// validateTrainerSettings checks the settings of trainers outside of their templates: version, shared
// memory, security profile, success policy.
func validateTrainerSettings(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	s := &job.Spec
	errs := slices.Concat(
		oneOf(path.Child("successPolicy"), s.SuccessPolicy, v1alpha1.SuccessLeader, v1alpha1.SuccessAllWorkers),
		oneOf(path.Child("securityProfile"), s.SecurityProfile, v1alpha1.SecurityNonRoot))
	at := path.Child("frameworkVersion")
	switch f := spec.Framework(job); {
	case s.FrameworkVersion == "":
	case len(s.FrameworkVersion) > maxVersion:
		errs = append(errs, field.TooLong(at, "", maxVersion))
	case !versionText.MatchString(s.FrameworkVersion):
		errs = append(errs, field.Invalid(at, s.FrameworkVersion,
			"not a version: write the major and the minor number, such as 2.1 or 2.1.0-cu121"))
	case !f.Reads(s.FrameworkVersion):
		errs = append(errs, field.Invalid(at, s.FrameworkVersion, f.VersionMessage()))
	}
	if s.SharedMemory != nil && s.SharedMemory.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("sharedMemory"), s.SharedMemory.String(),
			"is negative: give 0 or more"))
	}
	return errs
}

// validateTopology checks the placement of ranks by domains.
func validateTopology(hint *v1alpha1.TopologyHint, path *field.Path) field.ErrorList {
	if hint == nil {
		return nil
	}
	var errs field.ErrorList
	if hint.Mode == "" {
		errs = append(errs, field.Required(path.Child("mode"), "write Pack, Spread or Within"))
	}
	errs = append(errs, oneOf(path.Child("mode"), hint.Mode, v1alpha1.TopologyPack, v1alpha1.TopologySpread,
		v1alpha1.TopologyWithin)...)
	if hint.Mode == v1alpha1.TopologyWithin && hint.Key == "" {
		errs = append(errs, field.Invalid(path, hint.Mode,
			"mode Within needs a key: the node label whose domains are meant"))
	}
	if hint.Key != "" && len(validation.IsQualifiedName(hint.Key)) > 0 {
		errs = append(errs, field.Invalid(path.Child("key"), hint.Key, "not the key of a label: write one such as "+
			"topology.kubernetes.io/zone or kubernetes.io/hostname"))
	}
	return errs
}
