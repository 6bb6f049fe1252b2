package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Validate returns what is wrong with a configuration, by field.
func (c OperatorConfiguration) Validate() field.ErrorList {
	var errs field.ErrorList
	if c.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), c.APIVersion, []string{APIVersion}))
	}
	if c.Kind != Kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), c.Kind, []string{Kind}))
	}
	namespace := field.NewPath("leaderElection", "namespace")
	errs = append(errs, validateName(namespace, c.LeaderElection.Namespace, validation.IsDNS1123Label)...)
	errs = append(errs, validateAddress(field.NewPath("metrics", "bindAddress"), c.Metrics.BindAddress)...)
	errs = append(errs, validateAddress(field.NewPath("health", "bindAddress"), c.Health.BindAddress)...)
	errs = append(errs, validateReports(field.NewPath("reports"), c.Reports)...)
	errs = append(errs, validateDefaultScheduler(field.NewPath("defaultScheduler"), c.DefaultScheduler)...)
	if s := c.SchedulerOfUnnamed(); c.Schedulers.Kueue.ManageJobsWithoutQueueName &&
		s != string(v1alpha1.SchedulerKueue) {
		errs = append(errs, field.Invalid(field.NewPath("defaultScheduler"), s,
			"schedulers.kueue.manageJobsWithoutQueueName gives jobs that name no scheduler to Kueue: remove one of "+
				"the two"))
	}
	errs = append(errs, validateSchedulers(field.NewPath("schedulers"), c.Schedulers)...)
	image := c.Agent.Image
	if len(image) > 500 || strings.ContainsFunc(image, unprintable) {
		errs = append(errs, field.Invalid(field.NewPath("agent", "image"), image,
			"is no image's name: write it as in a pod, such as registry.example.com/trainingjob-agent:1.0"))
	}
	if c.Workers < 1 || c.Workers > 100 {
		errs = append(errs, field.Invalid(field.NewPath("workers"), c.Workers, "must be from 1 to 100"))
	}
	return errs
}

func validateDefaultScheduler(path *field.Path, name string) field.ErrorList {
	known := []v1alpha1.SchedulerName{
		v1alpha1.SchedulerVolcano, v1alpha1.SchedulerKueue, v1alpha1.SchedulerNative,
		v1alpha1.SchedulerCoscheduling,
	}
	if s := v1alpha1.SchedulerName(name); s != "" && !slices.Contains(known, s) {
		return field.ErrorList{field.NotSupported(path, s, known)}
	}
	return nil
}

func validateSchedulers(path *field.Path, s Schedulers) field.ErrorList {
	var errs field.ErrorList
	validateSchedulerName := func(scheduler, name string) {
		child := path.Child(scheduler, "schedulerName")
		errs = append(errs, validateName(child, name, validation.IsDNS1123Subdomain)...)
	}
	validateSchedulerName("volcano", s.Volcano.SchedulerName)
	binders := []string{BinderDefault, BinderNative, BinderCoscheduling}
	if !slices.Contains(binders, s.Kueue.Binder) {
		errs = append(errs, field.NotSupported(path.Child("kueue", "binder"), s.Kueue.Binder, binders))
	}
	validateSchedulerName("native", s.Native.SchedulerName)
	validateSchedulerName("coscheduling", s.Coscheduling.SchedulerName)
	return errs
}

// validateName checks the form of an optional name.
func validateName(path *field.Path, value string, check func(string) []string) field.ErrorList {
	if value == "" {
		return nil
	}
	var errs field.ErrorList
	for _, problem := range check(value) {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
}
