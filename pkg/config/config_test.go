package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const head = "apiVersion: config.mlplatform.example.com/v1alpha1\nkind: OperatorConfiguration\n"

// watched is what the default mode of liveness needs.
const watched = "reports: {bindAddress: ':9443', url: 'https://a', certificateDir: /c}\nagent: {image: a}\n"

func with(change func(*OperatorConfiguration)) OperatorConfiguration {
	c := Default()
	change(&c)
	return c
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		reason, yaml string
		want         OperatorConfiguration
	}{
		"empty": {"absent keys have their defaults", head, Default()},
		"switched off": {"false differs from absent", head + `
leaderElection: {enabled: false}
metrics: {secure: false}
schedulers: {volcano: {waitForInqueue: false}}
`, with(func(c *OperatorConfiguration) {
			c.LeaderElection.Enabled, c.Metrics.Secure, c.Schedulers.Volcano.WaitForInqueue = false, false, false
		})},
		"off without quotes": {"YAML 1.1 reads Off as false",
			head + "preemption: {mode: Off, maxPlans: 1}\nliveness: {mode: Off, maxMode: Off}\n" +
				"backfill: {mode: Off}",
			with(func(c *OperatorConfiguration) { c.Preemption.MaxPlans, c.Liveness.MaxMode = 1, LivenessOff })},
		"everything": {"every key of the documentation is read", head + `
watchNamespaces: [team-a, team-b]
leaderElection: {enabled: true, namespace: ml}
metrics: {bindAddress: "0", secure: true, certificateDir: /metrics, jobs: {limit: 10, rankLimit: 0}}
health: {bindAddress: "127.0.0.1:9000"}
profiles: {bindAddress: "localhost:6060"}
reports: {bindAddress: ":9443", url: "https://reports.ml.svc:9443", certificateDir: /certs, audience: reports,
  kubeflow: false}
defaultScheduler: native
nodeAutoscaler: absent
gpus: [example.com/accelerator]
gpuDeviceClasses: [accelerator.example.com]
gpuTolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
schedulers:
  allowed: [native, kueue]
  volcano: {waitForInqueue: true, schedulerName: vc}
  kueue: {binder: native}
  native: {schedulerName: gangs}
  coscheduling: {schedulerName: plugins}
agent: {image: registry.example.com/agent:1, searchPriorityClass: search}
mlflow: {trackingURI: "https://mlflow.example.com/tracking"}
blockers: {nameOtherNamespaces: true}
lifecycle: {keepPlaceSeconds: 60, startTimeoutSeconds: 600, forceDeleteAfterSeconds: 300}
preemption:
  {mode: Broker, maxDelaySeconds: 60, minRunSeconds: 0, maxRounds: 2, lossCapSeconds: 7200,
    unknownStartSeconds: 60, maxPlans: 2}
backfill:
  {mode: Reserve, maxReservations: 4, maxSharePercent: 5, maxHoldSeconds: 600, maxAgeSeconds: 3600,
    marginPercent: 0}
liveness: {mode: Warn, maxMode: Act}
forecast: {mode: On, horizonSeconds: 86400, considered: 64}
workers: 3
`, with(func(c *OperatorConfiguration) {
			c.WatchNamespaces = []string{"team-a", "team-b"}
			c.LeaderElection.Namespace, c.Metrics.BindAddress, c.Health.BindAddress = "ml", "0", "127.0.0.1:9000"
			c.Metrics.Jobs = JobMetrics{Limit: 10}
			c.Metrics.CertificateDir, c.Profiles.BindAddress = "/metrics", "localhost:6060"
			c.Reports = Reports{":9443", "https://reports.ml.svc:9443", "/certs", "reports", false}
			c.DefaultScheduler, c.Workers, c.Blockers.NameOtherNamespaces = "native", 3, true
			c.NodeAutoscaler, c.GPUs = AutoscalerAbsent, []string{"example.com/accelerator"}
			c.GPUDeviceClasses = []string{"accelerator.example.com"}
			c.GPUTolerations = []corev1.Toleration{{
				Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
			}}
			c.Schedulers.Volcano.SchedulerName, c.Schedulers.Native.SchedulerName = "vc", "gangs"
			c.Schedulers.Coscheduling.SchedulerName = "plugins"
			c.Schedulers.Kueue.Binder = "native"
			c.Agent.Image, c.Agent.SearchPriorityClass = "registry.example.com/agent:1", "search"
			c.MLflow.TrackingURI = "https://mlflow.example.com/tracking"
			c.Schedulers.Allowed = []string{"native", "kueue"}
			c.Lifecycle = Lifecycle{KeepPlaceSeconds: 60, StartTimeoutSeconds: 600, ForceDeleteAfterSeconds: 300}
			c.Preemption = Preemption{
				Mode: PreemptionBroker, MaxDelaySeconds: 60, MinRunSeconds: 0, MaxRounds: 2, LossCapSeconds: 7200,
				UnknownStartSeconds: 60, MaxPlans: 2,
			}
			c.Backfill = Backfill{
				Mode: BackfillReserve, MaxReservations: 4, MaxSharePercent: 5, MaxHoldSeconds: 600, MaxAgeSeconds: 3600,
			}
			c.Liveness = Liveness{Mode: LivenessWarn, MaxMode: LivenessAct}
			c.Forecast = Forecast{Mode: ForecastOn, HorizonSeconds: 86400, Considered: 64}
		})},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tc.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ yaml, says string }{
		"an unknown key, by name":         {head + "metrics: {bindAdress: ':1'}", "bindAdress"},
		"an unknown scheduler's settings": {head + "schedulers: {slurm: {}}", "slurm"},
		"a key given twice":               {head + "workers: 1\nworkers: 2", "workers"},
		"another kind":                    {strings.Replace(head, "OperatorConfiguration", "Pod", 1), "kind"},
		"no apiVersion":                   {"kind: OperatorConfiguration", "apiVersion"},
		"an empty namespace":              {head + "watchNamespaces: [a, '']", "watchNamespaces[1]: Required"},
		"a namespace twice":               {head + "watchNamespaces: [a, a]", "watchNamespaces[1]: Duplicate"},
		"a pattern of namespaces": {head + "watchNamespaces: ['team-*']",
			`watchNamespaces[0]: Invalid value: "team-*"`},
		"too many namespaces": {head + "watchNamespaces: [" + strings.Repeat("a,", 101) + "]",
			"watchNamespaces: Too many"},
		"an unknown scheduler": {head + "defaultScheduler: slurm",
			`defaultScheduler: Unsupported value: "slurm"`},
		"a GPU without its domain": {head + "gpus: ['*/gpu', gpu]", `gpus[1]: Invalid value: "gpu"`},
		"a toleration of all taints": {head + "gpuTolerations: [{operator: Exists}]",
			"gpuTolerations[0].key: Required value: name the taint's key"},
		"a toleration without sense": {head + "gpuTolerations: [{key: gpu, operator: Exists, value: a}]",
			"gpuTolerations[0].value"},
		"a toleration's effect": {head + "gpuTolerations: [{key: gpu, effect: Never}]",
			"gpuTolerations[0].effect"},
		"a bad pattern of GPUs":    {head + "gpus: ['example.com/[']", "gpus[0]"},
		"nothing but an exclusion": {head + "gpus: ['!example.com/gpu']", "gpus[0]"},
		"a device class's name": {head + "gpuDeviceClasses: [gpu.nvidia.com, nvidia.com/gpu]",
			`gpuDeviceClasses[1]: Invalid value: "nvidia.com/gpu"`},
		"a device class twice": {head + "gpuDeviceClasses: [a, a]", "gpuDeviceClasses[1]: Duplicate"},
		"no device class":      {head + "gpuDeviceClasses: ['']", "gpuDeviceClasses[0]: Required"},
		"too many device classes": {head + "gpuDeviceClasses: [" + strings.Repeat("a,", 65) + "]",
			"gpuDeviceClasses: Too many"},
		"no GPUs": {head + "gpus: []", "gpus: Required"},
		"an autoscaler by name": {head + "nodeAutoscaler: karpenter",
			`nodeAutoscaler: Unsupported value: "karpenter": supported values: "detect", "present", "absent"`},
		"an unknown allowed scheduler": {head + "schedulers: {allowed: [kueue, slurm]}",
			`schedulers.allowed[1]: Unsupported value: "slurm"`},
		"an allowed scheduler twice": {head + "schedulers: {allowed: [kueue, kueue]}", "schedulers.allowed[1]"},
		"a default that is not allowed": {head + "defaultScheduler: native\nschedulers: {allowed: [kueue]}",
			"defaultScheduler: Invalid value: \"native\": is none of schedulers.allowed"},
		"a bad PriorityClass":       {head + "agent: {searchPriorityClass: A_B}", "agent.searchPriorityClass"},
		"an address without a port": {head + "health: {bindAddress: localhost}", "health.bindAddress"},
		"profiles for everybody":    {head + "profiles: {bindAddress: ':6060'}", "must be on a loopback address"},
		"profiles of another host":  {head + "profiles: {bindAddress: '10.0.0.1:6060'}", "profiles.bindAddress"},
		"profiles without a port":   {head + "profiles: {bindAddress: localhost}", "must be host:port"},
		"an image with a space":     {head + "agent: {image: 'agent 1'}", "agent.image"},
		"a relative directory of the metrics": {head + "metrics: {certificateDir: certs}",
			"metrics.certificateDir: Invalid value: \"certs\": must be an absolute path"},
		"a certificate of metrics without TLS": {head + "metrics: {secure: false, certificateDir: /certs}",
			"set metrics.secure to true"},
		"too many jobs":         {head + "metrics: {jobs: {limit: 100001}}", "metrics.jobs.limit"},
		"less than no":          {head + "metrics: {jobs: {limit: -1}}", "metrics.jobs.limit"},
		"too many ranks":        {head + "metrics: {jobs: {rankLimit: 1000001}}", "metrics.jobs.rankLimit"},
		"too many workers":      {head + "workers: 1000", "workers"},
		"no workers":            {head + "workers: 0", "workers"},
		"forced too soon":       {head + "lifecycle: {forceDeleteAfterSeconds: 59}", "forceDeleteAfterSeconds"},
		"a place kept too long": {head + "lifecycle: {keepPlaceSeconds: 86401}", "keepPlaceSeconds"},
		"a negative time":       {head + "lifecycle: {startTimeoutSeconds: -1}", "startTimeoutSeconds"},
		"an unknown mode of preemption": {head + "preemption: {mode: Ask}",
			`preemption.mode: Unsupported value: "Ask": supported values: "Off", "DryRun", "Broker"`},
		"no delay":        {head + "preemption: {maxDelaySeconds: 0}", "preemption.maxDelaySeconds"},
		"rounds for ever": {head + "preemption: {maxRounds: 11}", "preemption.maxRounds"},
		"a bound on losses that is too low": {head + "preemption: {lossCapSeconds: 59}",
			"preemption.lossCapSeconds: Invalid value: 59: must be from 60 to 86400 seconds"},
		"a negative run":      {head + "preemption: {minRunSeconds: -1}", "preemption.minRunSeconds"},
		"a start of two days": {head + "preemption: {unknownStartSeconds: 172800}", "unknownStartSeconds"},
		"reservations without the broker": {head + "backfill: {mode: Reserve}\npreemption: {mode: DryRun}",
			`Invalid value: "Reserve": needs preemption.mode Broker: set that, or set backfill.mode to Off`},
		"a dry run of reservations without the broker": {head + "backfill: {mode: DryRun}", "set that"},
		"an unknown mode of backfill": {head + "backfill: {mode: Keep}",
			`backfill.mode: Unsupported value: "Keep": supported values: "Off", "DryRun", "Reserve"`},
		"many reservations": {head + "backfill: {maxReservations: 5}",
			"backfill.maxReservations: Invalid value: 5: must be from 1 to 4"},
		"a small share":           {head + "backfill: {maxSharePercent: 4}", "backfill.maxSharePercent"},
		"a hold of a minute":      {head + "backfill: {maxHoldSeconds: 60}", "must be from 600 to 604800 seconds"},
		"an age of a minute":      {head + "backfill: {maxAgeSeconds: 60}", "must be from 3600 to 604800 seconds"},
		"a negative margin":       {head + "backfill: {marginPercent: -1}", "must be from 0 to 200"},
		"preemption without plan": {head + "preemption: {maxPlans: 0}", "preemption.maxPlans"},
		"an unknown mode of forecasts": {head + "forecast: {mode: Maybe}",
			`forecast.mode: Unsupported value: "Maybe": supported values: "Off", "On"`},
		"a short horizon": {head + "forecast: {horizonSeconds: 60}",
			"forecast.horizonSeconds: Invalid value: 60: must be from 3600 to 2592000 seconds"},
		"too many considered": {head + "forecast: {considered: 2000}",
			"forecast.considered: Invalid value: 2000: must be from 16 to 1024"},
		"an unknown mode of liveness": {head + "liveness: {mode: Kill}",
			`liveness.mode: Unsupported value: "Kill": supported values: "Off", "Warn", "Act"`},
		"an unknown limit of liveness": {head + "liveness: {maxMode: 'No'}", "liveness.maxMode: Unsupported value"},
		"a mode above the limit": {head + watched + "liveness: {mode: Act}",
			`liveness.mode: Invalid value: "Act": exceeds liveness.maxMode Warn: raise liveness.maxMode`},
		"liveness without reports": {head + "agent: {image: a}\nliveness: {mode: Warn}",
			`liveness.mode: Invalid value: "Warn": all ranks send beats to the report server: set reports`},
		"liveness without an agent": {head + strings.Replace(watched, "image: a", "", 1) + "liveness: {mode: Warn}",
			"the agent of each rank sends beats: set agent.image, or liveness.mode Off"},
		"a bad namespace": {head + "leaderElection: {namespace: A_B}", "leaderElection.namespace"},
		"jobs without a queue for Kueue and for another": {
			head + "defaultScheduler: volcano\nschedulers: {kueue: {manageJobsWithoutQueueName: true}}",
			`defaultScheduler: Invalid value: "volcano": schedulers.kueue.manageJobsWithoutQueueName`,
		},
		"an unknown binder": {head + "schedulers: {kueue: {binder: volcano}}",
			`schedulers.kueue.binder: Unsupported value: "volcano"`},
		"a bad name of a second scheduler": {head + "schedulers: {coscheduling: {schedulerName: A_B}}",
			"schedulers.coscheduling.schedulerName"},
		"a bad scheduler name": {head + "schedulers: {native: {schedulerName: A_B}}",
			"schedulers.native.schedulerName"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.yaml))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("want an error that names %q, got %v", tc.says, err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	if c, err := Load(""); err != nil || !cmp.Equal(c, Default()) {
		t.Errorf("no file means the defaults, got %+v, %v", c, err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(head+"nonsense: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an error must name the file, got %v", err)
	}
	if _, err := Load(path + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want not exist, got %v", err)
	}
}
