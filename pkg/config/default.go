package config

import "mlplatform.example.com/trainingjob-operator/pkg/framework"

// DefaultAudience of the tokens that reports carry.
const DefaultAudience = "trainingjob-reports.mlplatform.example.com"

// Default is the configuration of an operator without a file. The backends apply the defaults of the
// scheduler names, which are theirs.
func Default() OperatorConfiguration {
	return OperatorConfiguration{
		APIVersion:     APIVersion,
		Kind:           Kind,
		LeaderElection: LeaderElection{Enabled: true},
		Metrics: Metrics{
			BindAddress: ":8443", Secure: true, Jobs: JobMetrics{Limit: 1000, RankLimit: 10000},
		},
		Health:   Health{BindAddress: ":8081"},
		Profiles: Profiles{BindAddress: Off},
		Reports:  Reports{BindAddress: Off, Audience: DefaultAudience, Kubeflow: true},
		Schedulers: Schedulers{
			Volcano: Volcano{WaitForInqueue: true},
			Kueue:   Kueue{Binder: BinderDefault},
		},
		NodeAutoscaler: AutoscalerDetect,
		GPUs:           framework.DefaultGPUs(),

		GPUDeviceClasses: framework.DefaultGPUDeviceClasses(),
		Lifecycle:        Lifecycle{KeepPlaceSeconds: 120, StartTimeoutSeconds: 1800},
		Preemption: Preemption{
			Mode: PreemptionOff, MaxDelaySeconds: 120, MinRunSeconds: 600, MaxRounds: 3, MaxPlans: 8,
			LossCapSeconds: 3600, UnknownStartSeconds: 120,
		},
		Backfill: Backfill{
			Mode: BackfillOff, MaxReservations: 1, MaxSharePercent: 50, MaxHoldSeconds: 86400, MaxAgeSeconds: 172800,
			MarginPercent: 25,
		},
		Liveness: Liveness{Mode: LivenessOff, MaxMode: LivenessWarn},
		Forecast: Forecast{Mode: ForecastOff, HorizonSeconds: 604800, Considered: 256},
		Workers:  10,
	}
}
