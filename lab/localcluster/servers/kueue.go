package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

// Kueue's process and its ports.
const (
	processKueue     = "kueue"
	portKueueMetrics = "kueue-metrics"
)

// kueue adds Kueue's manager with its webhooks: without them no test would meet what Kueue refuses and what
// it does to pods. The gangs that it has admitted are bound by Kubernetes' own gang scheduling.
func kueue() Scheduler {
	return Scheduler{
		Components: []string{components.Kueue},
		Ports:      []string{processKueue, portKueueWebhook, portKueueMetrics},
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
	port := c.Ports[processKueue]
	return process.Process{
		Name: processKueue,
		Path: c.Binaries.Path(components.Kueue, processKueue),
		Args: []string{
			"--kubeconfig=" + c.Files.Kubeconfig(),
			"--config=" + c.Files.KueueConfiguration(),
			// An aggregated API, which nobody uses here.
			"--feature-gates=VisibilityOnDemand=false",
			"--zap-log-level=2",
		},
		Log:    c.Files.Log(processKueue),
		Ports:  []int{port, c.Ports[portKueueWebhook], c.Ports[portKueueMetrics]},
		Health: "http://" + layout.LocalAddress(port) + "/readyz",
		Etc:    c.Files.KueueEtc(),
	}
}

// writeKueueFiles writes the configuration with the cluster's ports, and copies the serving certificate
// under the names that Kueue expects.
func (c Config) writeKueueFiles() error {
	if err := os.MkdirAll(c.Files.KueueCertificates(), 0o700); err != nil {
		return fmt.Errorf("creating Kueue's folder: %w", err)
	}
	for from, to := range map[string]string{c.Files.ServerCert(): "tls.crt", c.Files.ServerKey(): "tls.key"} {
		if err := copyFile(from, filepath.Join(c.Files.KueueCertificates(), to)); err != nil {
			return fmt.Errorf("copying Kueue's certificate: %w", err)
		}
	}
	content, err := os.ReadFile(c.moduleFile("kueue", "configuration.yaml"))
	if err != nil {
		return fmt.Errorf("reading Kueue's configuration: %w", err)
	}
	for name, value := range map[string]string{
		"HEALTH_ADDRESS":  layout.LocalAddress(c.Ports[processKueue]),
		"METRICS_ADDRESS": layout.LocalAddress(c.Ports[portKueueMetrics]),
		"WEBHOOK_PORT":    strconv.Itoa(c.Ports[portKueueWebhook]),
		"WEBHOOK_CERTS":   c.Files.KueueCertificates(),
	} {
		content = bytes.ReplaceAll(content, []byte("$("+name+")"), []byte(value))
	}
	if err := os.WriteFile(c.Files.KueueConfiguration(), content, 0o600); err != nil {
		return fmt.Errorf("writing Kueue's configuration: %w", err)
	}
	return nil
}

// copyFile copies a file that holds a key.
func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
