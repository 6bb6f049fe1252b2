package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
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
	errs = append(errs, validateNamespaces(field.NewPath("watchNamespaces"), c.WatchNamespaces)...)
	namespace := field.NewPath("leaderElection", "namespace")
	errs = append(errs, validateName(namespace, c.LeaderElection.Namespace, validation.IsDNS1123Label)...)
	errs = append(errs, validateAddress(field.NewPath("metrics", "bindAddress"), c.Metrics.BindAddress)...)
	errs = append(errs, validateMetricsCertificate(field.NewPath("metrics", "certificateDir"), c.Metrics)...)
	errs = append(errs, validateJobMetrics(field.NewPath("metrics", "jobs"), c.Metrics.Jobs)...)
	errs = append(errs, validateAddress(field.NewPath("health", "bindAddress"), c.Health.BindAddress)...)
	errs = append(errs, validateLoopback(field.NewPath("profiles", "bindAddress"), c.Profiles.BindAddress)...)
	errs = append(errs, validateReports(field.NewPath("reports"), c.Reports)...)
	errs = append(errs, validateDefaultScheduler(field.NewPath("defaultScheduler"), c)...)
	errs = append(errs, validateSchedulers(field.NewPath("schedulers"), c.Schedulers)...)
	errs = append(errs, validateAutoscaler(field.NewPath("nodeAutoscaler"), c.NodeAutoscaler)...)
	if i, err := framework.GPUs(c.GPUs).Validate(); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("gpus").Index(i), c.GPUs[i], err.Error()))
	}
	if len(c.GPUs) == 0 {
		errs = append(errs, field.Required(field.NewPath("gpus"), "name a resource, or leave the key out"))
	}
	errs = append(errs, validateDeviceClasses(field.NewPath("gpuDeviceClasses"), c.GPUDeviceClasses)...)
	errs = append(errs, validateTolerations(field.NewPath("gpuTolerations"), c.GPUTolerations)...)
	image := c.Agent.Image
	if len(image) > 500 || strings.ContainsFunc(image, unprintable) {
		errs = append(errs, field.Invalid(field.NewPath("agent", "image"), image,
			"is no image's name: write it as in a pod, such as registry.example.com/trainingjob-agent:1.0"))
	}
	class := field.NewPath("agent", "searchPriorityClass")
	errs = append(errs, validateName(class, c.Agent.SearchPriorityClass, validation.IsDNS1123Subdomain)...)
	errs = append(errs, validateMLflow(field.NewPath("mlflow"), c.MLflow)...)
	errs = append(errs, validateLifecycle(field.NewPath("lifecycle"), c.Lifecycle)...)
	errs = append(errs, validatePreemption(field.NewPath("preemption"), c.Preemption)...)
	errs = append(errs, validateBackfill(field.NewPath("backfill"), c)...)
	errs = append(errs, validateLiveness(field.NewPath("liveness"), c)...)
	errs = append(errs, validateForecast(field.NewPath("forecast"), c.Forecast)...)
	if c.Workers < 1 || c.Workers > 100 {
		errs = append(errs, field.Invalid(field.NewPath("workers"), c.Workers, "must be from 1 to 100"))
	}
	return errs
}

func validateDefaultScheduler(path *field.Path, c OperatorConfiguration) field.ErrorList {
	name, allowed := c.SchedulerOfUnnamed(), c.Schedulers.Allowed
	switch {
	case name == "":
		return nil
	case !slices.Contains(schedulers.Names(), name):
		return field.ErrorList{field.NotSupported(path, name, schedulers.Names())}
	case c.Schedulers.Kueue.ManageJobsWithoutQueueName && name != string(v1alpha1.SchedulerKueue):
		return field.ErrorList{field.Invalid(path, name,
			"schedulers.kueue.manageJobsWithoutQueueName gives jobs that name no scheduler to Kueue: remove one of "+
				"the two")}
	case len(allowed) > 0 && !slices.Contains(allowed, name):
		return field.ErrorList{field.Invalid(path, name,
			"is none of schedulers.allowed: add it there, or name one of those")}
	}
	return nil
}

func validateAutoscaler(path *field.Path, value string) field.ErrorList {
	known := []string{AutoscalerDetect, AutoscalerPresent, AutoscalerAbsent}
	if !slices.Contains(known, value) {
		return field.ErrorList{field.NotSupported(path, value, known)}
	}
	return nil
}

func validateAllowed(path *field.Path, allowed []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range allowed {
		switch {
		case !slices.Contains(schedulers.Names(), name):
			errs = append(errs, field.NotSupported(path.Index(i), name, schedulers.Names()))
		case slices.Contains(allowed[:i], name):
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
	}
	return errs
}

func validateSchedulers(path *field.Path, s Schedulers) field.ErrorList {
	errs := validateAllowed(path.Child("allowed"), s.Allowed)
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

// maxDeviceClasses bounds gpuDeviceClasses.
const maxDeviceClasses = 64

func validateDeviceClasses(path *field.Path, names []string) field.ErrorList {
	if len(names) > maxDeviceClasses {
		return field.ErrorList{field.TooMany(path, len(names), maxDeviceClasses)}
	}
	var errs field.ErrorList
	for i, name := range names {
		switch {
		case name == "":
			errs = append(errs, field.Required(path.Index(i), "name a device class"))
		case slices.Contains(names[:i], name):
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
		errs = append(errs, validateName(path.Index(i), name, validation.IsDNS1123Subdomain)...)
	}
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
