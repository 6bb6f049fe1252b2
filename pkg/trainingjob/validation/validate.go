package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// maxErrors is how many errors of one job are reported: they must fit into its status.
const maxErrors = 32

// Validate returns the errors of a job; none for a valid one. Of more than 32 errors it returns the
// first, and a last one that counts the others.
func Validate(job *v1alpha1.TrainingJob) field.ErrorList {
	errs := validate(job)
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors:maxErrors], field.Invalid(field.NewPath("spec"), field.OmitValueType{},
			fmt.Sprintf("%d more errors are not shown: correct these first", more)))
	}
	return errs
}

func validate(job *v1alpha1.TrainingJob) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateForm(&job.Spec, path)
	errs = append(errs, validateReplicas(&job.Spec, path)...)
	errs = append(errs, validateRoles(&job.Spec, path)...)
	errs = append(errs, validateNeeded(job, path)...)
	errs = append(errs, validateRestarts(job, path)...)
	errs = append(errs, validateElastic(job, path)...)
	errs = append(errs, validateRunPolicy(&job.Spec.RunPolicy, path.Child("runPolicy"))...)
	errs = append(errs, validateScheduling(job, path.Child("runPolicy", "schedulingPolicy"))...)
	errs = append(errs, validateTopology(job.Spec.RunPolicy.SchedulingPolicy.Topology,
		path.Child("runPolicy", "schedulingPolicy", "topology"))...)
	errs = append(errs, validateQueue(job, path.Child("runPolicy", "schedulingPolicy", "queue"))...)
	errs = append(errs, validateManagedBy(job, path.Child("managedBy"))...)
	errs = append(errs, validateName(job)...)
	errs = append(errs, validateTemplates(job, path)...)
	errs = append(errs, validateAdmission(job, path)...)
	errs = append(errs, validateSizes(job, path)...)
	errs = append(errs, validateHyperparameters(job, path.Child("hyperparameters"))...)
	errs = append(errs, validateTrainerSettings(job, path)...)
	errs = append(errs, validateNetworking(job, path.Child("networking"))...)
	errs = append(errs, validateMonitoring(job.Spec.Monitoring, path.Child("monitoring"))...)
	errs = append(errs, validateCheckpoint(job, path.Child("checkpoint"))...)
	errs = append(errs, validateLiveness(job, path.Child("runPolicy", "liveness"))...)
	errs = append(errs, validateRehearsal(job, path.Child("rehearsal"))...)
	errs = append(errs, validateMPI(job, path)...)
	errs = append(errs, validateEnvironment(job)...)
	errs = append(errs, validateMLflow(job)...)
	errs = append(errs, validateReservedNames(job)...)
	if len(errs) == 0 { // it is asked of the framework, which knows valid gangs
		errs = validateSetup(job, path)
	}
	return errs
}
