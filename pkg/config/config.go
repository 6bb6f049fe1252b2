// Package config answers one question: what did the admin configure of the operator?
//
// The configuration is one YAML file of kind OperatorConfiguration. A key that is not known is an error that names the
// key, so that nothing is set and then ignored; flags give the file's path and the logging, nothing else. Every field has
// a default, so that an empty configuration is a whole one.
package config

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// APIVersion and Kind of the file.
const (
	APIVersion = "config.mlplatform.example.com/v1alpha1"
	Kind       = "OperatorConfiguration"
)

// Off, as a bind address, turns a server off.
const Off = "0"

// OperatorConfiguration is the operator's configuration file.
type OperatorConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	LeaderElection LeaderElection `json:"leaderElection"`
	Metrics        Metrics        `json:"metrics"`
	Health         Health         `json:"health"`
	Reports        Reports        `json:"reports"`
	// DefaultScheduler of jobs that name none: volcano, native, coscheduling or kueue; default: kueue for jobs
	// that carry its queue label, else the first of the others that the cluster serves.
	DefaultScheduler string     `json:"defaultScheduler,omitempty"`
	Schedulers       Schedulers `json:"schedulers"`
	Agent            Agent      `json:"agent"`
	// Workers is how many jobs are reconciled at once, 1 to 100, default 10.
	Workers int `json:"workers"`
}

// Agent is the program that runs beside the trainers of jobs with checkpoints.
type Agent struct {
	// Image whose entrypoint is the agent (deploy/agent/Dockerfile makes one), as the nodes pull it. Without it jobs with checkpoints
	// wait, and say so; others need none.
	Image string `json:"image,omitempty"`
}

// LeaderElection lets one of several operators act.
type LeaderElection struct {
	// Enabled, default true.
	Enabled bool `json:"enabled"`
	// Namespace of the lease; default: the namespace that the operator's pod runs in, outside a pod trainingjob-system.
	Namespace string `json:"namespace,omitempty"`
}

// Metrics is the Prometheus endpoint.
type Metrics struct {
	// BindAddress, default ":8443"; "0" turns it off.
	BindAddress string `json:"bindAddress"`
	// Secure serves by TLS, and only to whom the API server lets read the URL /metrics. Default true.
	Secure bool `json:"secure"`
}

// Health is the endpoint of the probes /healthz and /readyz.
type Health struct {
	// BindAddress, default ":8081"; "0" turns it off.
	BindAddress string `json:"bindAddress"`
}

// Schedulers holds what each scheduler's dialect can be told.
type Schedulers struct {
	Volcano      Volcano      `json:"volcano"`
	Kueue        Kueue        `json:"kueue"`
	Native       Native       `json:"native"`
	Coscheduling Coscheduling `json:"coscheduling"`
}

// Volcano is how the operator speaks to Volcano.
type Volcano struct {
	// WaitForInqueue creates a gang's pods only when Volcano asks for them, so that a queued job costs nothing. Without it
	// a gang starts one scheduling session (about a second) sooner. Default true.
	WaitForInqueue bool `json:"waitForInqueue"`
	// SchedulerName that Volcano serves (its flag --scheduler-name), default volcano.
	SchedulerName string `json:"schedulerName,omitempty"`
}

// Kueue is how the operator speaks to Kueue.
type Kueue struct {
	// Binder places the pods of a gang that Kueue has let in: Kueue guarantees quota, not that all of them find nodes. One of
	// default: the cluster's default scheduler, one pod after the other; native: kube-scheduler's gang scheduling, all or
	// none, as under Native, and Kueue is then available only where the cluster serves that too. Default: default, which
	// every cluster has; set native where it is served.
	Binder string `json:"binder,omitempty"`
}

// Binders of Kueue.
const (
	BinderDefault = "default"
	BinderNative  = "native"
	// BinderCoscheduling: scheduler-plugins.
	BinderCoscheduling = "coscheduling"
)

// binders that are known.
func binders() []string { return []string{BinderDefault, BinderNative, BinderCoscheduling} }

// Native is how the operator speaks to kube-scheduler.
type Native struct {
	// SchedulerName of the kube-scheduler profile that places gangs, default default-scheduler.
	SchedulerName string `json:"schedulerName,omitempty"`
}

// Coscheduling is how the operator speaks to scheduler-plugins.
type Coscheduling struct {
	// SchedulerName of the profile that runs Coscheduling, default scheduler-plugins-scheduler.
	SchedulerName string `json:"schedulerName,omitempty"`
}

// Default is the configuration of an operator that is told nothing.
func Default() OperatorConfiguration {
	return OperatorConfiguration{
		APIVersion:     APIVersion,
		Kind:           Kind,
		LeaderElection: LeaderElection{Enabled: true},
		Metrics:        Metrics{BindAddress: ":8443", Secure: true},
		Health:         Health{BindAddress: ":8081"},
		Reports:        Reports{BindAddress: Off, Audience: DefaultAudience},
		Schedulers:     Schedulers{Volcano: Volcano{WaitForInqueue: true}, Kueue: Kueue{Binder: BinderDefault}},
		Workers:        10,
	}
}

// Load reads a configuration file; an empty path means the defaults.
func Load(path string) (OperatorConfiguration, error) {
	if path == "" {
		return Default(), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return OperatorConfiguration{}, fmt.Errorf("reading the configuration: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return c, fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	return c, nil
}

// Parse reads a configuration over the defaults. Unknown and repeated keys are errors.
func Parse(data []byte) (OperatorConfiguration, error) {
	c := Default()
	c.APIVersion, c.Kind = "", "" // a file says what it is
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, err
	}
	return c, c.Validate().ToAggregate()
}

// Validate says what is wrong with a configuration, by field.
func (c OperatorConfiguration) Validate() field.ErrorList {
	var errs field.ErrorList
	if c.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), c.APIVersion, []string{APIVersion}))
	}
	if c.Kind != Kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), c.Kind, []string{Kind}))
	}
	errs = append(errs, name(field.NewPath("leaderElection", "namespace"), c.LeaderElection.Namespace, validation.IsDNS1123Label)...)
	errs = append(errs, address(field.NewPath("metrics", "bindAddress"), c.Metrics.BindAddress)...)
	errs = append(errs, address(field.NewPath("health", "bindAddress"), c.Health.BindAddress)...)
	errs = append(errs, c.Reports.validate(field.NewPath("reports"))...)
	known := []v1alpha1.SchedulerName{v1alpha1.SchedulerVolcano, v1alpha1.SchedulerKueue, v1alpha1.SchedulerNative, v1alpha1.SchedulerCoscheduling}
	if s := v1alpha1.SchedulerName(c.DefaultScheduler); s != "" && !slices.Contains(known, s) {
		errs = append(errs, field.NotSupported(field.NewPath("defaultScheduler"), s, known))
	}
	schedulers := field.NewPath("schedulers")
	errs = append(errs, name(schedulers.Child("volcano", "schedulerName"), c.Schedulers.Volcano.SchedulerName, validation.IsDNS1123Subdomain)...)
	if !slices.Contains(binders(), c.Schedulers.Kueue.Binder) {
		errs = append(errs, field.NotSupported(schedulers.Child("kueue", "binder"), c.Schedulers.Kueue.Binder, binders()))
	}
	errs = append(errs, name(schedulers.Child("native", "schedulerName"), c.Schedulers.Native.SchedulerName, validation.IsDNS1123Subdomain)...)
	errs = append(errs, name(schedulers.Child("coscheduling", "schedulerName"), c.Schedulers.Coscheduling.SchedulerName, validation.IsDNS1123Subdomain)...)
	if i := c.Agent.Image; len(i) > 500 || strings.ContainsFunc(i, func(r rune) bool { return r <= ' ' || r > '~' }) {
		errs = append(errs, field.Invalid(field.NewPath("agent", "image"), i,
			"is no image's name: write it as in a pod, such as registry.example.com/trainingjob-agent:1.0"))
	}
	if c.Workers < 1 || c.Workers > 100 {
		errs = append(errs, field.Invalid(field.NewPath("workers"), c.Workers, "must be from 1 to 100"))
	}
	return errs
}

// name checks the form of a name that may be left out.
func name(path *field.Path, value string, check func(string) []string) field.ErrorList {
	if value == "" {
		return nil
	}
	var errs field.ErrorList
	for _, problem := range check(value) {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
}

// address is host:port, with or without a host, or Off.
func address(path *field.Path, value string) field.ErrorList {
	if value == Off {
		return nil
	}
	if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
		return field.ErrorList{field.Invalid(path, value, `must be host:port, such as ":8443", or "0" to turn it off`)}
	}
	return nil
}
