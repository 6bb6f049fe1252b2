package servers

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// ProcessKueue is Kueue's process.
const ProcessKueue = "kueue"

// portKueueMetrics is the port of Kueue's metrics.
const portKueueMetrics = "kueue-metrics"

// Kueue's configurations, files of lab/modules/kueue: the one that TrainingJobs are tested with, and that of
// Kueue's release.
const (
	kueueTestedConfiguration  = "configuration.yaml"
	KueueReleaseConfiguration = "release.yaml"
)

// kueue adds Kueue's manager with its webhooks: without them no test would meet what Kueue refuses and what
// it does to pods. The gangs that it has admitted are bound by Kubernetes' own gang scheduling.
func kueue() Extension {
	return Extension{
		Components: []string{components.Kueue},
		Ports:      []string{ProcessKueue, portKueueWebhook, portKueueMetrics},
		Features:   native().Features,
		Prepare: func(ctx context.Context, c Config, config *rest.Config) error {
			if err := c.writeKueueFiles(); err != nil {
				return err
			}
			// Kueue gives up when a CRD of its own is missing at the start.
			return objects.InstallCRDs(ctx, config, c.Binaries.Path(components.Kueue, components.CRDFolder))
		},
		Processes: func(c Config) []process.Process { return []process.Process{c.kueue()} },
		Configure: registerKueueWebhooks,
		Ready:     waitForKueueWebhooks,
	}
}

func (c Config) kueue() process.Process {
	port := c.Ports[ProcessKueue]
	return process.Process{
		Name: ProcessKueue,
		Path: c.Binaries.Path(components.Kueue, ProcessKueue),
		Args: []string{
			"--kubeconfig=" + c.Files.Kubeconfig(),
			"--config=" + c.Files.KueueConfiguration(),
			"--zap-log-level=2",
		},
		Log:    c.Files.Log(ProcessKueue),
		Ports:  []int{port, c.Ports[portKueueWebhook], c.Ports[portKueueMetrics]},
		Health: "http://" + layout.LocalAddress(port) + "/readyz",
		Etc:    c.Files.KueueEtc(),
	}
}

// writeKueueFiles writes the configuration, and copies the serving certificate under the names that Kueue
// expects.
func (c Config) writeKueueFiles() error {
	if err := c.copyCertificate(c.Files.KueueCertificates()); err != nil {
		return fmt.Errorf("copying Kueue's certificate: %w", err)
	}
	configuration, err := c.kueueConfiguration()
	if err != nil {
		return err
	}
	return writeConfiguration(c.Files.KueueConfiguration(), ProcessKueue, configuration)
}

// kueueConfiguration is the cluster's configuration of Kueue, with its ports and limits.
func (c Config) kueueConfiguration() (map[string]any, error) {
	file := c.configuration(SchedulerKueue, "kueue", kueueTestedConfiguration)
	configuration, err := readTemplate(file, map[string]string{
		"HEALTH_ADDRESS":  layout.LocalAddress(c.Ports[ProcessKueue]),
		"METRICS_ADDRESS": layout.LocalAddress(c.Ports[portKueueMetrics]),
		"WEBHOOK_PORT":    strconv.Itoa(c.Ports[portKueueWebhook]),
		"WEBHOOK_CERTS":   c.Files.KueueCertificates(),
	})
	if err != nil {
		return nil, fmt.Errorf("reading Kueue's configuration: %w", err)
	}
	if err := c.Limits[ProcessKueue].in(configuration, kueueJobSet, kueueTrainJob); err != nil {
		return nil, fmt.Errorf("completing %s: %w", file, err)
	}
	return configuration, nil
}

// kueueFrameworks are the integrations of Kueue's configuration, such as "batch/job" and "pod".
func (c Config) kueueFrameworks() ([]string, error) {
	configuration, err := c.kueueConfiguration()
	if err != nil {
		return nil, err
	}
	frameworks, _, err := unstructured.NestedStringSlice(configuration, "integrations", "frameworks")
	if err != nil {
		return nil, fmt.Errorf("reading Kueue's integrations: %w", err)
	}
	return frameworks, nil
}

// Kinds of jobs that Kueue's release has workers for and does not name in its configuration.
const (
	kueueJobSet   = "JobSet.jobset.x-k8s.io"
	kueueTrainJob = "TrainJob.trainer.kubeflow.org"
)
