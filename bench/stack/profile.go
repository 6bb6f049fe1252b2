package stack

import (
	"cmp"
	"slices"
	"strconv"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// Profile says with which limits the programs of a peer run.
type Profile string

const (
	// Stock are the limits of their releases.
	Stock Profile = "stock"
	// Equal are the same limits for all, as far as a program lets itself be set: those that the local cluster
	// gives Volcano, and as many workers as the TrainingJob operator has by default.
	Equal Profile = "equal"
)

// equal are the limits of Equal.
var equal = localcluster.Limits{QPS: 2000, Burst: 4000, Workers: 10}

// versions of the programs, as in the module files of the components.
var versions = map[string]string{
	components.Kubernetes:       "v1.37.2",
	components.Volcano:          "v1.15.1",
	components.Kueue:            "v0.19.2",
	components.JobSet:           "v0.12.0",
	components.Trainer:          "v2.3.0",
	components.SchedulerPlugins: "v0.34.7",
}

func versionsOf(names ...string) map[string]string {
	of := map[string]string{}
	for _, name := range names {
		of[name] = versions[name]
	}
	return of
}

// stockLimits are the defaults of the programs that can be set.
var stockLimits = map[string]localcluster.Limits{
	// cmd/controller-manager/app/options/options.go; installer/helm/chart/volcano/values.yaml has the same.
	localcluster.ProcessVolcanoController: {QPS: 50, Burst: 100, Workers: 3},
	// manifests/base/manager/controller_manager_config.yaml. The workers are those for TrainJobs.
	localcluster.ProcessTrainer: {QPS: 50, Burst: 100, Workers: 5},
	// config/components/manager/controller_manager_config.yaml. The workers are those for Jobs; there are 10 for
	// Workloads, and 1 for JobSets and TrainJobs, which the file does not name.
	localcluster.ProcessKueue: {QPS: 300, Burst: 500, Workers: 5},
	// api/config/v1alpha1/defaults.go. The controllers have controller-runtime's default of one worker each, and
	// no setting for it (main.go).
	localcluster.ProcessJobSet: {QPS: 500, Burst: 500, Workers: 1},
}

// limits of a program in the cluster's options. The programs know their own defaults.
func (p Profile) limits(program string) localcluster.Limits {
	if p == Stock {
		return localcluster.Limits{}
	}
	limits := equal
	if program == localcluster.ProcessJobSet {
		limits.Workers = 0 // cannot be set
	}
	return limits
}

// settings are the limits of a program as the report shows them.
func (p Profile) settings(program string) []result.Setting {
	own, set := stockLimits[program], p.limits(program)
	setting := func(name string, own, set int) result.Setting {
		value := own
		if set != 0 {
			value = set
		}
		return result.Setting{Program: program, Name: name, Value: strconv.Itoa(value), Stock: value == own}
	}
	return []result.Setting{
		setting("client requests per second", own.QPS, set.QPS),
		setting("client burst", own.Burst, set.Burst),
		setting("workers", own.Workers, set.Workers),
	}
}

func (p Profile) trainer() []result.Setting { return p.settings(localcluster.ProcessTrainer) }

func (p Profile) volcanoController() []result.Setting {
	return p.settings(localcluster.ProcessVolcanoController)
}

func (p Profile) jobSet() []result.Setting { return p.settings(localcluster.ProcessJobSet) }

// kueue are the limits of Kueue, whose workers differ by kind.
func (p Profile) kueue() []result.Setting {
	settings := p.settings(localcluster.ProcessKueue)
	workers := cmp.Or(p.limits(localcluster.ProcessKueue).Workers, 1)
	settings[2].Name = "workers for Jobs"
	return append(settings,
		result.Setting{Program: localcluster.ProcessKueue, Name: "workers for Workloads", Value: "10", Stock: true},
		result.Setting{
			Program: localcluster.ProcessKueue, Name: "workers for JobSets and TrainJobs",
			Value: strconv.Itoa(workers), Stock: workers == 1,
		})
}

// settingConfiguration is the name of the setting that is a file.
const settingConfiguration = "configuration"

// volcanoScheduler are the settings of Volcano's scheduler in every local cluster, whatever the profile: its
// defaults are a period of 1 s and 2000 requests at once (cmd/scheduler/app/options/options.go of v1.14.1).
func volcanoScheduler() []result.Setting {
	const program = localcluster.ProcessVolcanoScheduler
	return []result.Setting{
		{Program: program, Name: "period", Value: "200ms"},
		{Program: program, Name: "client requests per second", Value: "2000", Stock: true},
		{Program: program, Name: "client burst", Value: "4000"},
		{Program: program, Name: settingConfiguration, Value: "lab/modules/volcano/scheduler.yaml"},
	}
}

// kubernetesPrograms are the settings of Kubernetes' own programs in every local cluster, for stacks whose
// pods they create and bind. Its Job controller has the default of 5 workers
// (pkg/controller/job/config/v1alpha1/defaults.go of v1.37.1).
func kubernetesPrograms() []result.Setting {
	const manager, scheduler = "kube-controller-manager", "kube-scheduler"
	return []result.Setting{
		{Program: manager, Name: "client requests per second", Value: "1000"},
		{Program: manager, Name: "client burst", Value: "2000"},
		{Program: manager, Name: "workers for Jobs", Value: "5", Stock: true},
		{Program: scheduler, Name: "client requests per second", Value: "2000"},
		{Program: scheduler, Name: "client burst", Value: "4000"},
	}
}

func join(settings ...[]result.Setting) []result.Setting { return slices.Concat(settings...) }
